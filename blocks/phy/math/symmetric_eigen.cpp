// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/math/symmetric_eigen.h"

#include <Eigen/Eigenvalues>

namespace wip::phy {

symmetric_eigen eigen_of(const Eigen::MatrixXd& matrix) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
    return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace wip::phy

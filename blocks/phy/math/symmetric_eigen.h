// SPDX-License-Identifier: GPL-3.0-or-later
// Eigenvalues, the smallest first, and eigenvectors (columns) of a symmetric matrix, of which the
// lower triangle is read. In a file of its own, which is compiled without vectors: GCC fuses
// products with additions in the solver's rotations when it vectorises them, -ffp-contract=off or
// not, and eigenvectors of nearly equal eigenvalues amplify such last bits.
#pragma once

#include <Eigen/Core>

namespace wip::phy {

struct symmetric_eigen {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;
};

symmetric_eigen eigen_of(const Eigen::MatrixXd& matrix);

}  // namespace wip::phy

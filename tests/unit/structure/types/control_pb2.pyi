# SPDX-License-Identifier: GPL-3.0-or-later
from openwip_schema.control_pb2 import *

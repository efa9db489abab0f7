# SPDX-License-Identifier: GPL-3.0-or-later
from openwip_schema.receiver_pb2 import *

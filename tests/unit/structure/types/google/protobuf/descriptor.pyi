# SPDX-License-Identifier: GPL-3.0-or-later
from collections.abc import Mapping, Sequence

class EnumValueDescriptor:
    name: str
    number: int

class EnumDescriptor:
    name: str
    values: Sequence[EnumValueDescriptor]
    values_by_name: Mapping[str, EnumValueDescriptor]
    values_by_number: Mapping[int, EnumValueDescriptor]

class FieldDescriptor:
    name: str
    number: int
    label: int
    type: int
    cpp_type: int
    json_name: str
    message_type: Descriptor
    enum_type: EnumDescriptor
    has_presence: bool
    containing_oneof: object
    LABEL_OPTIONAL: int
    LABEL_REPEATED: int
    TYPE_DOUBLE: int
    TYPE_FLOAT: int
    TYPE_INT32: int
    TYPE_INT64: int
    TYPE_SINT32: int
    TYPE_SINT64: int
    TYPE_UINT32: int
    TYPE_UINT64: int
    TYPE_BOOL: int
    TYPE_ENUM: int
    TYPE_STRING: int
    TYPE_BYTES: int
    TYPE_MESSAGE: int

class Descriptor:
    name: str
    full_name: str
    fields: Sequence[FieldDescriptor]
    fields_by_name: Mapping[str, FieldDescriptor]
    enum_types_by_name: Mapping[str, EnumDescriptor]
    nested_types_by_name: Mapping[str, Descriptor]

class FileDescriptor:
    name: str
    message_types_by_name: Mapping[str, Descriptor]

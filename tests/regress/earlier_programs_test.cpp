// Programs that once went wrong, as an earlier generator made them: a loop over a captured read, a seed with a
// conditional, a seed that shares with the elements what may fail.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("an array program that once went wrong") {
  const Ref n0 = ir::use(host_array(
      {"uint8"}, {1, 16},
      {{0x10, 0x65, 0x99, 0xe3, 0xff, 0x5b, 0x4b, 0xca, 0xff, 0xee, 0xff, 0xfc, 0x70, 0xea, 0x7e, 0x64}}));
  const Ref n1 = ir::use(host_array({"double"}, {}, {{0xc00aaaaaaaaaaaaa}}));
  const Ref n2 = ir::parameter(element_type({"uint8"}));
  const Ref n3 = ir::parameter(element_type({"uint8"}));
  const Ref n4 = ir::cast(type_named("int64"), n3);
  const Ref n5 = ir::constant(type_named("int64"), 0xfffffffffffffffa);
  const Ref n6 = ir::primitive(primitive_named("not_equal"), {n4, n5});
  const Ref n7 = ir::cast(type_named("int64"), n3);
  const Ref n8 = ir::cast(type_named("int64"), n2);
  const Ref n9 = ir::primitive(primitive_named("add"), {n7, n8});
  const Ref n10 = ir::constant(type_named("uint8"), 0x0);
  const Ref n11 = ir::shape(n0);
  const Ref n12 = ir::project(n11, 0, 1);
  const Ref n13 = ir::cast(type_named("int64"), n2);
  const Ref n14 = ir::constant(type_named("int64"), 0x7fffffffffffffff);
  const Ref n15 = ir::primitive(primitive_named("bit_and"), {n13, n14});
  const Ref n16 = ir::constant(type_named("int64"), 0x1);
  const Ref n17 = ir::primitive(primitive_named("maximum"), {n12, n16});
  const Ref n18 = ir::primitive(primitive_named("remainder"), {n15, n17});
  const Ref n19 = ir::shape(n0);
  const Ref n20 = ir::project(n19, 1, 1);
  const Ref n21 = ir::constant(type_named("int64"), 0xb);
  const Ref n22 = ir::constant(type_named("int64"), 0x7fffffffffffffff);
  const Ref n23 = ir::primitive(primitive_named("bit_and"), {n21, n22});
  const Ref n24 = ir::constant(type_named("int64"), 0x1);
  const Ref n25 = ir::primitive(primitive_named("maximum"), {n20, n24});
  const Ref n26 = ir::primitive(primitive_named("remainder"), {n23, n25});
  const Ref n27 = ir::tuple({n18, n26});
  const Ref n28 = ir::index(n0, n27, {}, false);
  const Ref n29 = ir::constant(type_named("int64"), 0x0);
  const Ref n30 = ir::constant(type_named("int64"), 0x1);
  const Ref n31 = ir::shape(n0);
  const Ref n32 = ir::project(n31, 0, 1);
  const Ref n33 = ir::primitive(primitive_named("multiply"), {n30, n32});
  const Ref n34 = ir::shape(n0);
  const Ref n35 = ir::project(n34, 1, 1);
  const Ref n36 = ir::primitive(primitive_named("multiply"), {n33, n35});
  const Ref n37 = ir::primitive(primitive_named("less"), {n29, n36});
  const Ref n38 = ir::cond(n37, n28, n10);
  const Ref n39 = ir::cast(type_named("int64"), n38);
  const Ref n40 = ir::cond(n6, n9, n39);
  const Ref n41 = ir::constant(type_named("int64"), 0x7);
  const Ref n42 = ir::primitive(primitive_named("bit_and"), {n40, n41});
  const Ref n43 = ir::constant(type_named("int64"), 0x0);
  const Ref n44 = ir::cast(type_named("int64"), n3);
  const Ref n45 = ir::constant(type_named("int64"), 0x4);
  const Ref n46 = ir::primitive(primitive_named("add"), {n44, n45});
  const Ref n47 = ir::constant(type_named("int64"), 0x7);
  const Ref n48 = ir::primitive(primitive_named("bit_and"), {n46, n47});
  const Ref n49 = ir::constant(type_named("int64"), 0x0);
  const Ref n50 = ir::constant(type_named("bool"), 0x1);
  const Ref n51 = ir::cast(type_named("double"), n3);
  const Ref n52 = ir::cast(type_named("double"), n3);
  const Ref n53 = ir::cond(n50, n51, n52);
  const Ref n54 = ir::tuple({n49, n53});
  const Ref n55 = ir::parameter(element_type({"int64", "double"}));
  const Ref n56 = ir::project(n55, 0, 1);
  const Ref n57 = ir::primitive(primitive_named("less"), {n56, n48});
  const Ref n58 = ir::parameter(element_type({"int64", "double"}));
  const Ref n59 = ir::project(n58, 0, 1);
  const Ref n60 = ir::constant(type_named("int64"), 0x1);
  const Ref n61 = ir::primitive(primitive_named("add"), {n59, n60});
  const Ref n62 = ir::project(n58, 0, 1);
  const Ref n63 = ir::cast(type_named("double"), n62);
  const Ref n64 = ir::tuple({n61, n63});
  const Ref n65 = ir::lambda({n58}, {n64});
  const Ref n66 = ir::lambda({n55}, {n57});
  const Ref n67 = ir::while_loop(n66, n65, n54);
  const Ref n68 = ir::project(n67, 1, 1);
  const Ref n69 = ir::tuple({n43, n68});
  const Ref n70 = ir::parameter(element_type({"int64", "double"}));
  const Ref n71 = ir::project(n70, 0, 1);
  const Ref n72 = ir::primitive(primitive_named("less"), {n71, n42});
  const Ref n73 = ir::parameter(element_type({"int64", "double"}));
  const Ref n74 = ir::project(n73, 0, 1);
  const Ref n75 = ir::constant(type_named("int64"), 0x1);
  const Ref n76 = ir::primitive(primitive_named("add"), {n74, n75});
  const Ref n77 = ir::constant(type_named("uint8"), 0x0);
  const Ref n78 = ir::constant(type_named("int64"), 0x1);
  const Ref n79 = ir::shape(n0);
  const Ref n80 = ir::project(n79, 0, 1);
  const Ref n81 = ir::primitive(primitive_named("multiply"), {n78, n80});
  const Ref n82 = ir::shape(n0);
  const Ref n83 = ir::project(n82, 1, 1);
  const Ref n84 = ir::primitive(primitive_named("multiply"), {n81, n83});
  const Ref n85 = ir::cast(type_named("int64"), n2);
  const Ref n86 = ir::primitive(primitive_named("add"), {n40, n85});
  const Ref n87 = ir::constant(type_named("int64"), 0x7fffffffffffffff);
  const Ref n88 = ir::primitive(primitive_named("bit_and"), {n86, n87});
  const Ref n89 = ir::constant(type_named("int64"), 0x1);
  const Ref n90 = ir::primitive(primitive_named("maximum"), {n84, n89});
  const Ref n91 = ir::primitive(primitive_named("remainder"), {n88, n90});
  const Ref n92 = ir::linear_index(n0, n91, {}, false);
  const Ref n93 = ir::constant(type_named("int64"), 0x0);
  const Ref n94 = ir::constant(type_named("int64"), 0x1);
  const Ref n95 = ir::shape(n0);
  const Ref n96 = ir::project(n95, 0, 1);
  const Ref n97 = ir::primitive(primitive_named("multiply"), {n94, n96});
  const Ref n98 = ir::shape(n0);
  const Ref n99 = ir::project(n98, 1, 1);
  const Ref n100 = ir::primitive(primitive_named("multiply"), {n97, n99});
  const Ref n101 = ir::primitive(primitive_named("less"), {n93, n100});
  const Ref n102 = ir::cond(n101, n92, n77);
  const Ref n103 = ir::cast(type_named("double"), n102);
  const Ref n104 = ir::tuple({n76, n103});
  const Ref n105 = ir::lambda({n73}, {n104});
  const Ref n106 = ir::lambda({n70}, {n72});
  const Ref n107 = ir::while_loop(n106, n105, n69);
  const Ref n108 = ir::project(n107, 1, 1);
  const Ref n109 = ir::tuple({});
  const Ref n110 = ir::index(n1, n109, {}, false);
  const Ref n111 = ir::cast(type_named("int32"), n110);
  const Ref n112 = ir::primitive(primitive_named("negate"), {n111});
  const Ref n113 = ir::tuple({n108, n112});
  const Ref n114 = ir::lambda({n2, n3}, {n113});
  const Ref n115 = ir::map(n114, {n0, n0});
  const Ref n116 = ir::constant(type_named("int64"), 0x100);
  const Ref n117 = ir::constant(type_named("int64"), 0x258);
  const Ref n118 = ir::constant(type_named("int64"), 0x7fffffffffffffff);
  const Ref n119 = ir::constant(type_named("int64"), 0xfffffffffffffffb);
  const Ref n120 = ir::constant(type_named("int64"), 0x14);
  const Ref n121 = ir::primitive(primitive_named("subtract"), {n119, n120});
  const Ref n122 = ir::primitive(primitive_named("add"), {n118, n121});
  const Ref n123 = ir::constant(type_named("int64"), 0x3f);
  const Ref n124 = ir::primitive(primitive_named("bit_and"), {n122, n123});
  const Ref n125 = ir::primitive(primitive_named("minimum"), {n124, n117});
  const Ref n126 = ir::constant(type_named("int64"), 0x1);
  const Ref n127 = ir::primitive(primitive_named("maximum"), {n125, n126});
  const Ref n128 = ir::constant(type_named("int64"), 0x21);
  const Ref n129 = ir::primitive(primitive_named("minimum"), {n116, n128});
  const Ref n130 = ir::constant(type_named("int64"), 0x21);
  const Ref n131 = ir::primitive(primitive_named("minimum"), {n127, n130});
  const Ref n132 = ir::tuple({n129, n131});
  const Ref n133 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n134 = ir::constant(type_named("int32"), 0xfffffff0);
  const Ref n135 = ir::cast(type_named("float"), n134);
  const Ref n136 = ir::lambda({n133}, {n135});
  const Ref n137 = ir::generate(n132, n136);
  const Ref n138 = ir::parameter(element_type({"float"}));
  const Ref n139 = ir::parameter(element_type({"float"}));
  const Ref n140 = ir::lambda({n138, n139}, {n139});
  const Ref n141 = ir::fold(n140, n137, Ref());
  check_everywhere({n141, n115});
}

TEST_CASE("a sequence program that once went wrong") {
  const Ref n0 = stream_of({component({"int64"}, {std::int64_t{33}}, 0, 64),
                            component({"int64", "int32", "int32"}, {std::nullopt}, 1, 64),
                            component({"int64", "uint8"}, {std::nullopt}, 2, 32)},
                           {});
  const Ref n1 = ir::parameter(array_type(1, {"int64"}));
  const Ref n2 = ir::parameter(array_type(1, {"int64", "int32", "int32"}));
  const Ref n3 = ir::parameter(array_type(1, {"int64", "uint8"}));
  const Ref n4 = ir::parameter(element_type({"int64", "int32", "int32"}));
  const Ref n5 = ir::parameter(element_type({"int64", "int32", "int32"}));
  const Ref n6 = ir::project(n4, 0, 1);
  const Ref n7 = ir::project(n5, 0, 1);
  const Ref n8 = ir::constant(type_named("int64"), 0x0);
  const Ref n9 = ir::primitive(primitive_named("equal"), {n6, n8});
  const Ref n10 = ir::cond(n9, n7, n6);
  const Ref n11 = ir::project(n4, 1, 1);
  const Ref n12 = ir::project(n5, 1, 1);
  const Ref n13 = ir::constant(type_named("int32"), 0x0);
  const Ref n14 = ir::primitive(primitive_named("equal"), {n11, n13});
  const Ref n15 = ir::cond(n14, n12, n11);
  const Ref n16 = ir::project(n4, 2, 1);
  const Ref n17 = ir::project(n5, 2, 1);
  const Ref n18 = ir::constant(type_named("int32"), 0x0);
  const Ref n19 = ir::primitive(primitive_named("equal"), {n16, n18});
  const Ref n20 = ir::cond(n19, n17, n16);
  const Ref n21 = ir::tuple({n10, n15, n20});
  const Ref n22 = ir::lambda({n4, n5}, {n21});
  const Ref n23 = ir::constant(type_named("int64"), 0xfffffffffffffffd);
  const Ref n24 = ir::primitive(primitive_named("negate"), {n23});
  const Ref n25 = ir::cast(type_named("int32"), n24);
  const Ref n26 = ir::cast(type_named("int32"), n24);
  const Ref n27 = ir::cast(type_named("int32"), n24);
  const Ref n28 = ir::primitive(primitive_named("add"), {n26, n27});
  const Ref n29 = ir::tuple({n24, n25, n28});
  const Ref n30 = ir::fold(n22, n2, n29);
  const Ref n31 = ir::parameter(element_type({"int64", "int32", "int32"}));
  const Ref n32 = ir::tuple({});
  const Ref n33 = ir::index(n30, n32, {}, false);
  const Ref n34 = ir::constant(type_named("float"), 0xc0080000);
  const Ref n35 = ir::project(n33, 2, 1);
  const Ref n36 = ir::cast(type_named("float"), n35);
  const Ref n37 = ir::constant(type_named("float"), 0xc0000000);
  const Ref n38 = ir::primitive(primitive_named("fma"), {n34, n36, n37});
  const Ref n39 = ir::project(n31, 0, 1);
  const Ref n40 = ir::cast(type_named("float"), n39);
  const Ref n41 = ir::primitive(primitive_named("add"), {n40, n38});
  const Ref n42 = ir::primitive(primitive_named("subtract"), {n38, n41});
  const Ref n43 = ir::cast(type_named("uint8"), n42);
  const Ref n44 = ir::tuple({});
  const Ref n45 = ir::index(n30, n44, {}, false);
  const Ref n46 = ir::project(n45, 2, 1);
  const Ref n47 = ir::cast(type_named("double"), n46);
  const Ref n48 = ir::tuple({});
  const Ref n49 = ir::index(n30, n48, {}, false);
  const Ref n50 = ir::project(n49, 0, 1);
  const Ref n51 = ir::cast(type_named("double"), n50);
  const Ref n52 = ir::cast(type_named("double"), n43);
  const Ref n53 = ir::primitive(primitive_named("multiply"), {n51, n52});
  const Ref n54 = ir::cast(type_named("int32"), n53);
  const Ref n55 = ir::tuple({n43, n47, n54});
  const Ref n56 = ir::lambda({n31}, {n55});
  const Ref n57 = ir::map(n56, {n2});
  const Ref n58 = ir::parameter(element_type({"int64", "int32", "int32"}));
  const Ref n59 = ir::parameter(element_type({"uint8", "double", "int32"}));
  const Ref n60 = ir::project(n58, 1, 1);
  const Ref n61 = ir::cast(type_named("bool"), n60);
  const Ref n62 = ir::project(n59, 2, 1);
  const Ref n63 = ir::cast(type_named("int64"), n62);
  const Ref n64 = ir::constant(type_named("int64"), 0xffffffffffffffee);
  const Ref n65 = ir::cond(n61, n63, n64);
  const Ref n66 = ir::constant(type_named("int64"), 0x7);
  const Ref n67 = ir::primitive(primitive_named("bit_and"), {n65, n66});
  const Ref n68 = ir::constant(type_named("int64"), 0x0);
  const Ref n69 = ir::project(n58, 1, 1);
  const Ref n70 = ir::project(n58, 0, 1);
  const Ref n71 = ir::cast(type_named("int32"), n70);
  const Ref n72 = ir::primitive(primitive_named("less_equal"), {n69, n71});
  const Ref n73 = ir::tuple({n68, n72});
  const Ref n74 = ir::parameter(element_type({"int64", "bool"}));
  const Ref n75 = ir::project(n74, 0, 1);
  const Ref n76 = ir::primitive(primitive_named("less"), {n75, n67});
  const Ref n77 = ir::parameter(element_type({"int64", "bool"}));
  const Ref n78 = ir::project(n77, 0, 1);
  const Ref n79 = ir::constant(type_named("int64"), 0x1);
  const Ref n80 = ir::primitive(primitive_named("add"), {n78, n79});
  const Ref n81 = ir::project(n58, 1, 1);
  const Ref n82 = ir::cast(type_named("bool"), n81);
  const Ref n83 = ir::project(n59, 0, 1);
  const Ref n84 = ir::cast(type_named("bool"), n83);
  const Ref n85 = ir::primitive(primitive_named("bit_xor"), {n82, n84});
  const Ref n86 = ir::tuple({n80, n85});
  const Ref n87 = ir::lambda({n77}, {n86});
  const Ref n88 = ir::lambda({n74}, {n76});
  const Ref n89 = ir::while_loop(n88, n87, n73);
  const Ref n90 = ir::project(n89, 1, 1);
  const Ref n91 = ir::cast(type_named("float"), n72);
  const Ref n92 = ir::project(n58, 1, 1);
  const Ref n93 = ir::cast(type_named("float"), n92);
  const Ref n94 = ir::cast(type_named("float"), n72);
  const Ref n95 = ir::primitive(primitive_named("multiply"), {n93, n94});
  const Ref n96 = ir::primitive(primitive_named("equal"), {n91, n95});
  const Ref n97 = ir::constant(type_named("bool"), 0x0);
  const Ref n98 = ir::cond(n90, n96, n97);
  const Ref n99 = ir::primitive(primitive_named("add"), {n65, n65});
  const Ref n100 = ir::project(n59, 2, 1);
  const Ref n101 = ir::cast(type_named("int64"), n100);
  const Ref n102 = ir::primitive(primitive_named("multiply"), {n99, n101});
  const Ref n103 = ir::project(n58, 2, 1);
  const Ref n104 = ir::cast(type_named("int64"), n103);
  const Ref n105 = ir::cond(n96, n65, n104);
  const Ref n106 = ir::constant(type_named("int64"), 0x7);
  const Ref n107 = ir::primitive(primitive_named("bit_and"), {n105, n106});
  const Ref n108 = ir::constant(type_named("int64"), 0x0);
  const Ref n109 = ir::cond(n72, n101, n102);
  const Ref n110 = ir::tuple({n108, n109});
  const Ref n111 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n112 = ir::project(n111, 0, 1);
  const Ref n113 = ir::primitive(primitive_named("less"), {n112, n107});
  const Ref n114 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n115 = ir::project(n114, 0, 1);
  const Ref n116 = ir::constant(type_named("int64"), 0x1);
  const Ref n117 = ir::primitive(primitive_named("add"), {n115, n116});
  const Ref n118 = ir::primitive(primitive_named("bit_and"), {n101, n65});
  const Ref n119 = ir::tuple({n117, n118});
  const Ref n120 = ir::lambda({n114}, {n119});
  const Ref n121 = ir::lambda({n111}, {n113});
  const Ref n122 = ir::while_loop(n121, n120, n110);
  const Ref n123 = ir::project(n122, 1, 1);
  const Ref n124 = ir::primitive(primitive_named("maximum"), {n102, n123});
  const Ref n125 = ir::project(n58, 0, 1);
  const Ref n126 = ir::primitive(primitive_named("minimum"), {n65, n125});
  const Ref n127 = ir::primitive(primitive_named("subtract"), {n126, n126});
  const Ref n128 = ir::project(n59, 2, 1);
  const Ref n129 = ir::constant(type_named("int32"), 0xfffffff8);
  const Ref n130 = ir::primitive(primitive_named("less"), {n128, n129});
  const Ref n131 = ir::project(n58, 1, 1);
  const Ref n132 = ir::cast(type_named("bool"), n131);
  const Ref n133 = ir::cond(n132, n109, n109);
  const Ref n134 = ir::cond(n72, n123, n127);
  const Ref n135 = ir::cond(n130, n133, n134);
  const Ref n136 = ir::primitive(primitive_named("bit_or"), {n127, n135});
  const Ref n137 = ir::tuple({n98, n124, n136});
  const Ref n138 = ir::lambda({n58, n59}, {n137});
  const Ref n139 = ir::map(n138, {n2, n57});
  const Ref n140 = ir::lambda({n1, n2, n3}, {n139, n57});
  const Ref n141 = ir::map_seq(n140, {n0});
  const Ref n142 = ir::parameter(array_type(1, {"bool", "int64", "int64"}));
  const Ref n143 = ir::parameter(array_type(1, {"uint8", "double", "int32"}));
  const Ref n144 = ir::parameter(array_type(1, {"int64"}));
  const Ref n145 = ir::parameter(array_type(1, {"int64", "int32", "int32"}));
  const Ref n146 = ir::parameter(array_type(1, {"int64", "uint8"}));
  const Ref n147 = ir::constant(type_named("int64"), 0x1);
  const Ref n148 = ir::shape(n144);
  const Ref n149 = ir::primitive(primitive_named("multiply"), {n147, n148});
  const Ref n150 = ir::constant(type_named("int64"), 0x1);
  const Ref n151 = ir::tuple({n149, n150});
  const Ref n152 = ir::reshape(n151, n144);
  const Ref n153 = ir::lambda({n142, n143, n144, n145, n146}, {n152});
  const Ref n154 = ir::map_seq(n153, {n141, n0});
  const Ref n155 = ir::tabulate(n154);
  const Ref n156 = ir::consume(n155);
  check_everywhere({n156});
}

TEST_CASE("another sequence program that once went wrong") {
  const Ref n0 = ir::use(host_array(
      {"int32", "int32", "int64"}, {63},
      {{0x3,        0xfffffff8, 0xfffffffa, 0x6,        0x13,       0xffffffef, 0xfffffff0, 0xffffffee,
        0x14,       0x9,        0xffffffed, 0x8,        0xc,        0xffffffee, 0xfffffffa, 0x14,
        0x3,        0x9,        0xd,        0x0,        0xffffffff, 0x80000000, 0x2,        0xc,
        0x10,       0xfffffff3, 0x9,        0xffffffff, 0x7fffffff, 0xfffffff1, 0x12,       0xb,
        0x8,        0x8,        0xfffffffb, 0x5,        0xffffffec, 0x13,       0xfffffffa, 0x2,
        0xfffffff4, 0xfffffff7, 0x1,        0xffffffef, 0xc,        0x0,        0x0,        0x7fffffff,
        0xf,        0xffffffef, 0x80000000, 0x12,       0x12,       0x9,        0xfffffff4, 0x80000000,
        0x5,        0xf,        0xfffffff1, 0x7,        0x14,       0x80000000, 0xfffffff6},
       {0x13,       0x7,        0xe,        0x7fffffff, 0xfffffffd, 0x0,        0x0,        0xfffffffb,
        0x5,        0xfffffff5, 0xfffffff7, 0xfffffff1, 0x12,       0x9,        0x5,        0xffffffff,
        0xd,        0xfffffffa, 0x80000000, 0x8,        0x7fffffff, 0xfffffff6, 0x2,        0xfffffffd,
        0xfffffff0, 0xffffffff, 0x0,        0x0,        0x7fffffff, 0x2,        0xfffffff6, 0x14,
        0xffffffed, 0xd,        0xfffffffa, 0x14,       0x7,        0x5,        0xf,        0x9,
        0xfffffff7, 0xfffffff9, 0x3,        0x4,        0x0,        0xfffffff6, 0xfffffff7, 0x4,
        0xfffffffd, 0x80000000, 0x0,        0x2,        0xfffffff4, 0xe,        0x10,       0xfffffff8,
        0x11,       0xfffffffc, 0xfffffff2, 0xfffffff2, 0x12,       0xfffffffc, 0xfffffff5},
       {0x7,
        0xfffffffffffffff8,
        0xb,
        0x6,
        0xfffffffffffffff9,
        0xfffffffffffffff4,
        0xfffffffffffffff6,
        0xe,
        0x3,
        0xffffffffffffffec,
        0xa,
        0x0,
        0xfffffffffffffff6,
        0xffffffffffffffec,
        0x10,
        0xfffffffffffffff6,
        0xfffffffffffffff8,
        0x0,
        0x11,
        0xfffffffffffffff0,
        0xfffffffffffffff3,
        0xffffffffffffffef,
        0xfffffffffffffff8,
        0xfffffffffffffff8,
        0x11,
        0xffffffffffffffee,
        0xd,
        0x8,
        0x13,
        0x14,
        0xc,
        0x4,
        0xb,
        0x10,
        0x3,
        0xfffffffffffffff3,
        0xffffffffffffffee,
        0xfffffffffffffff8,
        0xffffffffffffffec,
        0x11,
        0xfffffffffffffff2,
        0x3,
        0xc,
        0x8000000000000000,
        0xfffffffffffffff8,
        0x7,
        0x2,
        0xc,
        0x1,
        0x10,
        0xfffffffffffffff1,
        0x13,
        0x1,
        0xffffffffffffffec,
        0x8000000000000000,
        0xfffffffffffffffd,
        0xe,
        0x0,
        0xfffffffffffffff9,
        0xd,
        0xffffffffffffffed,
        0x14,
        0x4}}));
  const Ref n1 =
      stream_of({component({"int32"}, {std::nullopt}, 0, 32)}, {Item{host_array({"int32"}, {1}, {{0x5}})}});
  const Ref n2 = ir::constant(type_named("int64"), 0x13);
  const Ref n3 = ir::take_seq(n2, n1);
  const Ref n4 = ir::parameter(array_type(1, {"int32"}));
  const Ref n5 = ir::parameter(element_type({"int32", "int32", "int64"}));
  const Ref n6 = ir::project(n5, 2, 1);
  const Ref n7 = ir::cast(type_named("float"), n6);
  const Ref n8 = ir::primitive(primitive_named("absolute"), {n7});
  const Ref n9 = ir::project(n5, 1, 1);
  const Ref n10 = ir::cast(type_named("bool"), n9);
  const Ref n11 = ir::project(n5, 0, 1);
  const Ref n12 = ir::cast(type_named("float"), n11);
  const Ref n13 = ir::project(n5, 0, 1);
  const Ref n14 = ir::cast(type_named("float"), n13);
  const Ref n15 = ir::cond(n10, n12, n14);
  const Ref n16 = ir::primitive(primitive_named("divide"), {n8, n15});
  const Ref n17 = ir::primitive(primitive_named("absolute"), {n16});
  const Ref n18 = ir::lambda({n5}, {n17});
  const Ref n19 = ir::map(n18, {n0});
  const Ref n20 = ir::lambda({n4}, {n19});
  const Ref n21 = ir::map_seq(n20, {n3});
  const Ref n22 = ir::elements(n21);
  const Ref n23 = ir::consume(n22);
  check_everywhere({n23});
}

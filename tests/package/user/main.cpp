#include <anabranch/anabranch.h>

#include <iostream>

int main() { std::cout << "anabranch " << anabranch::version_string << '\n'; }

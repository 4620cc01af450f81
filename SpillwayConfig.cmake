# find_package(Spillway): Spillway::sim, ::traces, ::policies, ::models, ::reports, ::scenarios.
include(CMakeFindDependencyMacro)
foreach(package fmt simdjson Threads nlohmann_json CLI11 Eigen3 ZLIB PkgConfig)
  find_dependency(${package})
endforeach()
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(uring IMPORTED_TARGET liburing) # on Linux
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-cpp)
include(${CMAKE_CURRENT_LIST_DIR}/SpillwayTargets.cmake)

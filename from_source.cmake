# Libraries of C++ that are compiled here, since Debian has no archive of them (SPILLWAY_STATIC), or
# has them for another standard library (SPILLWAY_LIBCXX): fmt from its headers, others from the
# source of Debian's package.
if(SPILLWAY_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

find_path(fmt_headers fmt/format-inl.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${fmt_headers})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

# Without a network, unpack these archives anywhere and name the folders in
# -DFETCHCONTENT_SOURCE_DIR_SIMDJSON=FOLDER and -DFETCHCONTENT_SOURCE_DIR_YAML=FOLDER.
include(FetchContent)

# spillway_source(name URL hash): unpacked in NAME_SOURCE_DIR.
macro(spillway_source name url hash)
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${hash} DOWNLOAD_EXTRACT_TIMESTAMP ON)
  FetchContent_GetProperties(${name})
  if(NOT ${name}_POPULATED)
    FetchContent_Populate(${name})
  endif()
endmacro()

spillway_source(
  simdjson http://deb.debian.org/debian/pool/main/s/simdjson/simdjson_3.0.1.orig.tar.gz
  156b1bc5eb0561b2bd166b46d191fd3d95a3e709cc63761477d3b7aec2b6e9ed)
add_library(spillway_simdjson STATIC ${simdjson_SOURCE_DIR}/singleheader/simdjson.cpp)
target_include_directories(spillway_simdjson SYSTEM PUBLIC ${simdjson_SOURCE_DIR}/singleheader)
add_library(simdjson::simdjson ALIAS spillway_simdjson)

if(SPILLWAY_LIBCXX)
  spillway_source(
    yaml http://deb.debian.org/debian/pool/main/y/yaml-cpp/yaml-cpp_0.7.0+dfsg.orig.tar.xz
    dc63708605404e0b963e0ca3a9619d1c8270eda2839603e6fa0384e5e51e5312)
  file(GLOB yaml_sources ${yaml_SOURCE_DIR}/src/*.cpp)
  add_library(spillway_yaml STATIC ${yaml_sources})
  target_compile_definitions(spillway_yaml PUBLIC YAML_CPP_STATIC_DEFINE)
  target_include_directories(spillway_yaml SYSTEM PUBLIC ${yaml_SOURCE_DIR}/include)
  add_library(PkgConfig::yaml ALIAS spillway_yaml)
endif()

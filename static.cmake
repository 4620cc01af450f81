# Where a static link finds its libraries (SPILLWAY_STATIC). Debian's packages hold the archives of
# all but two: fmt is compiled from its headers, simdjson from the source of Debian's package.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_path(fmt_headers fmt/format-inl.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${fmt_headers})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)

# Without a network, unpack that archive anywhere and name the folder in
# -DFETCHCONTENT_SOURCE_DIR_SIMDJSON=FOLDER.
include(FetchContent)
FetchContent_Declare(
  simdjson
  URL http://deb.debian.org/debian/pool/main/s/simdjson/simdjson_3.0.1.orig.tar.gz
  URL_HASH SHA256=156b1bc5eb0561b2bd166b46d191fd3d95a3e709cc63761477d3b7aec2b6e9ed
  DOWNLOAD_EXTRACT_TIMESTAMP ON)
FetchContent_GetProperties(simdjson)
if(NOT simdjson_POPULATED)
  FetchContent_Populate(simdjson)
endif()
add_library(spillway_simdjson STATIC ${simdjson_SOURCE_DIR}/singleheader/simdjson.cpp)
target_include_directories(spillway_simdjson SYSTEM PUBLIC ${simdjson_SOURCE_DIR}/singleheader)
add_library(simdjson::simdjson ALIAS spillway_simdjson)

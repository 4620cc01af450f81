# cmake --install: the program, and what comes along with it in the folders of the source tree, so that
# paths from one file to another hold (scenarios/scenario/bundled_files.hpp finds them there).
include(GNUInstallDirs)
set(share ${CMAKE_INSTALL_DATADIR}/spillway)
install(TARGETS spillway DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(TARGET spillway-gpu-harness)
  install(TARGETS spillway-gpu-harness DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
install(DIRECTORY scenarios/library scenarios/hardware scenarios/schema
        DESTINATION ${share}/scenarios COMPONENT program FILES_MATCHING PATTERN "*.json")
install(DIRECTORY traces/samples DESTINATION ${share}/traces COMPONENT program
        FILES_MATCHING PATTERN "*.gz")
install(FILES scenarios/KEYS.md DESTINATION ${share}/scenarios COMPONENT program)
install(FILES LICENSE reports/renderers/html/echarts/NOTICE
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# The program writes its own completions and manual pages; one for another machine cannot run here.
if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "
    set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")
    set(bash bash-completion/completions/spillway)
    set(zsh zsh/site-functions/_spillway)
    set(fish fish/vendor_completions.d/spillway.fish)
    foreach(shell bash zsh fish)
      get_filename_component(folder \"\${share}/\${\${shell}}\" DIRECTORY)
      file(MAKE_DIRECTORY \"\${folder}\")
      execute_process(COMMAND \"$<TARGET_FILE:spillway>\" completion \${shell}
                      OUTPUT_FILE \"\${share}/\${\${shell}}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    execute_process(COMMAND \"$<TARGET_FILE:spillway>\" schema result
                            --out \"\${share}/spillway/scenarios/schema\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"$<TARGET_FILE:spillway>\" man --out \"\${share}/man/man1\"
                    COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
endif()

# The simulator as a library: find_package(Spillway), Spillway::sim, ::traces, ::policies, ::models,
# ::reports and ::scenarios. Headers keep their folders under include/spillway.
# Not of a static build, whose libraries are its own.
if(NOT SPILLWAY_STATIC AND NOT SPILLWAY_LIBCXX)
  set(libraries flags sim traces policies models reports scenarios)
  foreach(library IN LISTS libraries)
    set_target_properties(spillway_${library} PROPERTIES EXPORT_NAME ${library})
  endforeach()
  list(TRANSFORM libraries PREPEND spillway_)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Spillway)
  install(TARGETS ${libraries} EXPORT Spillway ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT embedding)
  install(DIRECTORY sim traces policies models reports scenarios
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spillway COMPONENT embedding
          FILES_MATCHING PATTERN "*.hpp" PATTERN "pch.hpp" EXCLUDE)
  install(EXPORT Spillway NAMESPACE Spillway:: FILE SpillwayTargets.cmake DESTINATION ${package}
          COMPONENT embedding)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/SpillwayConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES SpillwayConfig.cmake ${PROJECT_BINARY_DIR}/SpillwayConfigVersion.cmake
          DESTINATION ${package} COMPONENT embedding)
endif()

# cpack --config build/CPackConfig.cmake: one package for Debian, of the program alone.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME spillway)
set(CPACK_PACKAGE_CONTACT "Spillway developers <spillway@spillway.dev>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Simulator and capacity planner of tiered KV caches")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME spillway)
set(CPACK_DEBIAN_PROGRAM_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
find_program(dpkg_shlibdeps dpkg-shlibdeps)
if(dpkg_shlibdeps)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
      "libc6 (>= 2.36), libstdc++6 (>= 12), libfmt9, libsimdjson14, zlib1g, libzstd1, libxxhash0, liburing2, libsqlite3-0, libyaml-cpp0.7")
endif()
include(CPack)

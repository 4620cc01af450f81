# cmake --install: the program, and what comes along with it in the folders of the source tree, so that
# paths from one file to another hold (scenarios/scenario/bundled_files.hpp finds them there).
set(share share/spillway)
install(TARGETS spillway DESTINATION bin)
if(TARGET spillway-gpu-harness)
  install(TARGETS spillway-gpu-harness DESTINATION bin)
endif()
install(DIRECTORY scenarios/library scenarios/hardware scenarios/schema
        DESTINATION ${share}/scenarios FILES_MATCHING PATTERN "*.json")
install(DIRECTORY traces/samples DESTINATION ${share}/traces FILES_MATCHING PATTERN "*.gz")
install(FILES LICENSE DESTINATION ${share})

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
    execute_process(COMMAND \"$<TARGET_FILE:spillway>\" man --out \"\${share}/man/man1\"
                    COMMAND_ERROR_IS_FATAL ANY)")
endif()

#!/usr/bin/env node
import { CommanderError } from '@commander-js/extra-typings'
import { exitCodeOf, reportError } from './errors.ts'
import { createProgram } from './program.ts'

// Exit quietly when the reader closes the pipe, as in `computer machines list | head -1`.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit()
    throw error
  })
}

const usageExitCode = 2
let json = false
const program = createProgram({ onCommand: (options) => (json = options.json === true) })
try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : usageExitCode
  else {
    reportError(error, { json })
    process.exitCode = exitCodeOf(error)
  }
}

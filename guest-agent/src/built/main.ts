import { join } from 'node:path'
import { readConfig } from '../config.ts'
import { listen } from '../listen.ts'
import { compileProgram, readProgram, runProgram } from './program.ts'

declare const PROGRAM_FILE: string

/**
 * The agent of a build. It has read all of its code before it listens, so an agent that can be
 * reached never depends on a file that a later build removes.
 */
const program = readProgram(join(import.meta.dirname, PROGRAM_FILE))
const config = readConfig(process.env)
listen(config.socketPath, (listener) => {
  runProgram(program, compileProgram(program)).serveAgent(config, listener)
})

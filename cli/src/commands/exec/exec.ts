import type { Machine } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, collectPair, examples, parseSeconds } from '../../command.ts'
import { showDone, writeJson } from '../../output.ts'
import { KeptOutput, localSink } from '../../process-log.ts'
import { argv, failAs255, userFlag } from '../remote-command.ts'
import { follow, type FollowOptions } from './follow.ts'
import { queueSignals } from './signals.ts'

export const exec = clientCommand('exec')
  .description('Run a command in a machine, streaming its output, and exit with its exit code.')
  .argument('<machine>', 'machine ID or name')
  .argument('<command...>', 'program and arguments, run without a shell')
  .addOption(userFlag())
  .option('-w, --cwd <folder>', "working folder (default: the user's home)")
  .option('-e, --env <key=value>', 'set an environment variable; may be repeated', collectPair)
  .option('-n, --no-stdin', 'do not read standard input')
  .option(
    '-t, --timeout <seconds>',
    'kill the command after this time, exit code 124',
    parseSeconds,
  )
  .option('-d, --detach', 'leave it running and print its ID, for `computer logs` and `kill`')
  .passThroughOptions()
  .addHelpText(
    'after',
    `
Standard input is sent to the command unless it is a terminal; use \`computer shell\` for
interactive programs. Ctrl-C interrupts the command, a second one terminates it and a third
kills it. The exit code is the command's own, or 255 if it could not be run. With --json the
output is one object with exit_code, stdout and stderr (the last MiB of each).
${examples(
  'computer exec first uname -a',
  'computer exec -w project first bash -c "make && make test"',
  'tar c . | computer exec first tar x',
)}`,
  )
  .action(async (ref, command, options) =>
    failAs255(options, async () => {
      await using computer = await connect(options)
      const machine = await findMachine(computer, ref)
      const { user, cwd, env, json } = options
      using signals = queueSignals()
      const started = await machine.processes.start(argv(command), { user, cwd, env })
      const { id } = started
      if (options.detach) {
        await machine.processes.pipe(id, '')
        return showDone(id, started, options)
      }
      signals.forwardTo((signal) => void machine.processes.signal(id, signal).catch(() => {}))
      const hasInput = options.stdin && !process.stdin.isTTY
      const timeoutMs = options.timeout === undefined ? undefined : options.timeout * 1000
      const how = { hasInput, timeoutMs }
      process.exitCode = json ? await keep(machine, id, how) : await stream(machine, id, how)
    }),
  )

type How = Pick<FollowOptions, 'hasInput' | 'timeoutMs'>

async function stream(machine: Machine, id: string, how: How): Promise<number> {
  const sinks = { stdout: localSink('stdout'), stderr: localSink('stderr') }
  return (await follow(machine, id, { ...how, ...sinks })).exitCode
}

/** Prints the result as the API's exec route answers it. */
async function keep(machine: Machine, id: string, how: How): Promise<number> {
  const sinks = { stdout: new KeptOutput(), stderr: new KeptOutput() }
  const { exitCode, timedOut } = await follow(machine, id, { ...how, ...sinks })
  const { stdout, stderr } = sinks
  const truncated = stdout.isTruncated || stderr.isTruncated
  writeJson({ exitCode, stdout: stdout.text(), stderr: stderr.text(), timedOut, truncated })
  return exitCode
}

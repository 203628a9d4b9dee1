import { Option } from '@commander-js/extra-typings'
import { connect, findMachine } from '../../client.ts'
import { clientCommand } from '../../command.ts'
import { showDone } from '../../output.ts'

const signals = [
  'SIGTERM',
  'SIGKILL',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGSTOP',
  'SIGCONT',
] as const

export const kill = clientCommand('kill')
  .description('Send a signal to a background process and the processes that it started.')
  .argument('<machine>', 'machine ID or name')
  .argument('<process>', 'process ID, as shown by `computer ps`')
  .addOption(
    new Option('-s, --signal <signal>', 'signal to send')
      .choices(signals)
      .default('SIGTERM' as const),
  )
  .action(async (ref, id, { signal, ...options }) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    await machine.processes.signal(id, signal)
    showDone(`sent ${signal} to ${id}`, { id, signal }, options)
  })

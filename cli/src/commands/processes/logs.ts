import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { copyLog, localSink, type ProcessStream } from '../../process-log.ts'

export const logs = clientCommand('logs')
  .description('Print the output of a background process: the last 16 MiB of each stream.')
  .argument('<machine>', 'machine ID or name')
  .argument('<process>', 'process ID, as shown by `computer ps`')
  .option('-f, --follow', 'keep printing until the process has exited')
  .addHelpText('after', examples('computer logs first prc_0123456789 --follow'))
  .action(async (ref, id, options) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const follow = options.follow === true
    const copy = async (stream: ProcessStream) =>
      copyLog(machine, id, stream, { sink: localSink(stream), follow })
    await Promise.all([copy('stdout'), copy('stderr')])
  })

import { connect } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { showDone } from '../../output.ts'

export const usageLabels = clientCommand('labels')
  .description('Show or choose the keys of metadata that usage is counted by.')
  .argument('[keys...]', 'keys to count by from now on, at most five')
  .option('--none', 'count by no key')
  .addHelpText('after', examples('computer usage labels team task', 'computer usage --by task'))
  .action(async (keys, { none, ...options }) => {
    await using computer = await connect(options)
    const isChange = none === true || keys.length > 0
    const labels = isChange
      ? await computer.usage.setLabels({ keys: none ? [] : keys })
      : await computer.usage.labels()
    const names = labels.keys.join(', ') || 'no key of metadata'
    showDone(`Usage is counted by ${names}.`, labels, options)
  })

import { Option } from '@commander-js/extra-typings'
import { connect, findTemplate } from '../../client.ts'
import { clientCommand, collectPair, examples } from '../../command.ts'
import { showList } from '../../output.ts'
import { machineColumns } from './columns.ts'

const states = [
  'creating',
  'running',
  'stopping',
  'stopped',
  'starting',
  'error',
  'deleting',
] as const

export const listMachines = (name: string) =>
  clientCommand(name)
    .description('List machines, newest first.')
    .addOption(new Option('--state <state>', 'only machines in this state').choices(states))
    .option('--template <template>', 'only machines created from this template: ID or name')
    .option(
      '--metadata <key=value>',
      'only machines with this metadata; may be repeated',
      collectPair,
    )
    .addHelpText(
      'after',
      examples('computer machines list', 'computer machines ls --state running --json'),
    )
    .action(async (options) => {
      await using computer = await connect(options)
      const { state, metadata } = options
      const templateId = options.template && (await findTemplate(computer, options.template)).id
      const filter = { state, metadata, templateId, limit: 100 }
      const machines = await computer.machines.list(filter).all()
      const emptyMessage = 'No machines found. Create one with `computer machines create`.'
      showList(
        machines.map(({ data }) => data),
        machineColumns,
        { ...options, emptyMessage },
      )
    })

import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { globalFlags } from './command.ts'

/**
 * Lets the global options stand before a command as well: `computer --json machines list`. The groups between
 * take them too, but do not show them.
 */
export function addGlobalOptions(program: CommandUnknownOpts): void {
  for (const option of globalFlags()) program.addOption(option)
  for (const group of program.commands) addToGroups(group)
  program.hook('preAction', (_, command) => passOn(command))
}

function addToGroups(command: CommandUnknownOpts): void {
  if (command.commands.length === 0) return
  for (const option of globalFlags()) {
    // A group that is a command itself has them already.
    const isThere = command.options.some(({ long }) => long === option.long)
    if (!isThere) command.addOption(option.hideHelp())
  }
  command.enablePositionalOptions()
  for (const inner of command.commands) addToGroups(inner)
}

/** Gives a command the options that stand before it. One behind the command counts more. */
function passOn(command: CommandUnknownOpts): void {
  for (let above = command.parent; above; above = above.parent) {
    for (const [name, value] of Object.entries(above.opts())) {
      const flag = globalFlags().find((option) => option.attributeName() === name)
      if (!flag || above.getOptionValueSource(name) !== 'cli') continue
      if (!command.options.some((option) => option.attributeName() === name))
        command.error(`error: ${command.name()} has no option '${flag.long}'`)
      if (command.getOptionValueSource(name) !== 'cli')
        command.setOptionValueWithSource(name, value, 'cli')
    }
  }
}

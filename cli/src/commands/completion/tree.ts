import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings'

/** A command with the words that can follow it. */
export type Node = {
  /** Its words without the program name: '' is the program itself, 'machines create' a command. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly OptionWords[]
  /** Whether its first argument is a machine. */
  readonly takesMachine: boolean
}
export type Word = { readonly names: readonly string[]; readonly description: string }
type OptionWords = Word & {
  readonly takesValue: boolean
  readonly choices: readonly string[]
}

/** Lists all commands, once under each of their names and aliases. */
export function readTree(program: CommandUnknownOpts): Node[] {
  return read(program, [])
}

/** Each option with a value as it stands after its command, such as 'exec --user'. */
export function valueOptions(nodes: readonly Node[]): string[] {
  return nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ names }) => names.map((name) => `${path} ${name}`)),
  )
}

function read(command: CommandUnknownOpts, words: readonly string[]): Node[] {
  const help = command.createHelp()
  const options = [...help.visibleOptions(command)].map(optionWords)
  const visible = help.visibleCommands(command).filter((each) => command.commands.includes(each))
  const commands = visible.map((each) => ({
    names: [each.name(), ...each.aliases()],
    description: each.description(),
  }))
  const takesMachine = command.registeredArguments[0]?.name() === 'machine'
  const node = { path: words.join(' '), commands, options, takesMachine }
  const below = visible.flatMap((each) =>
    [each.name(), ...each.aliases()].flatMap((name) => read(each, [...words, name])),
  )
  return [node, ...below]
}

function optionWords(option: Option): OptionWords {
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    takesValue: option.required,
    choices: option.argChoices ?? [],
  }
}

import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings'

/** A command with the words that can follow it. */
export type Node = {
  /** Its words without the program name: '' is the program itself, 'machines create' a command. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly OptionWords[]
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

function read(command: CommandUnknownOpts, words: readonly string[]): Node[] {
  const help = command.createHelp()
  const options = [...help.visibleOptions(command)].map(optionWords)
  const inner = command.commands.map((each) => ({
    names: [each.name(), ...each.aliases()],
    description: each.description(),
  }))
  const node = { path: words.join(' '), commands: inner, options }
  const below = command.commands.flatMap((each) =>
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

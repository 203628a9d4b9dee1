import { Argument, Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { readTree } from './tree.ts'
import { zshScript } from './zsh.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }
const shells = ['bash', 'zsh', 'fish'] as const

export const completion = new Command('completion')
  .description('Print a shell completion script for commands and options.')
  .addArgument(new Argument('<shell>', 'shell to complete for').choices(shells))
  .addHelpText(
    'after',
    `
Load it when the shell starts:
  bash, in ~/.bashrc:                  source <(computer completion bash)
  zsh, in ~/.zshrc after compinit:     source <(computer completion zsh)
  fish, in ~/.config/fish/config.fish: computer completion fish | source`,
  )
  .action((shell, _, command: CommandUnknownOpts) => {
    process.stdout.write(scripts[shell](readTree(rootOf(command))))
  })

function rootOf(command: CommandUnknownOpts): CommandUnknownOpts {
  return command.parent ? rootOf(command.parent) : command
}

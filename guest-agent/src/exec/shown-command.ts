/** A command as lists show it: the first arguments, and so many characters of them together. */
export function shownCommand(command: readonly string[]): string[] {
  const shown: string[] = []
  let roomLeft = maxCharacters
  for (const argument of command.slice(0, maxArguments)) {
    if (roomLeft === 0) break
    shown.push(argument.slice(0, roomLeft).toWellFormed())
    roomLeft -= Math.min(roomLeft, argument.length)
  }
  return shown
}

const maxArguments = 64
const maxCharacters = 4096

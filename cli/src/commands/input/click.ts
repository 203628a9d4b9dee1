import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { clientCommand, examples, parseCount } from '../../command.ts'
import { act } from './act.ts'

const buttons = ['left', 'middle', 'right'] as const

export const click = clientCommand('click')
  .description('Click at a point on the desktop of a machine.')
  .argument('<machine>', 'machine ID or name')
  .argument('<x>', 'pixels from the left edge of a screenshot', parseCoordinate)
  .argument('<y>', 'pixels from its top edge', parseCoordinate)
  .addOption(new Option('--button <button>', 'button (default: left)').choices(buttons))
  .option('--count <count>', '2 is a double-click (default: 1)', parseCount)
  .addHelpText('after', examples('computer click first 640 400 --count 2'))
  .action(async (ref, x, y, { button, count, ...options }) =>
    act(ref, options, `clicked at ${x},${y}`, async ({ mouse }) => {
      await mouse.click(x, y, { button, count })
    }),
  )

function parseCoordinate(text: string): number {
  if (/^\d+$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number of pixels.')
}

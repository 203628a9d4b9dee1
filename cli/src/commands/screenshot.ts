import { Option } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'
import { writeFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { connect, findMachine } from '../client.ts'
import { clientCommand, examples, parseCount } from '../command.ts'
import { showDone } from '../output.ts'
import { spin } from '../progress.ts'

const formats = ['png', 'jpeg', 'webp'] as const
type Format = (typeof formats)[number]

export const screenshot = clientCommand('screenshot')
  .description('Save a screenshot of the desktop of a machine.')
  .argument('<machine>', 'machine ID or name')
  .argument('[file]', 'output file, or - for standard output (default: NAME.png)')
  .addOption(
    new Option('--format <format>', 'image format (default: from the file name)').choices(formats),
  )
  .option('--quality <percent>', 'jpeg and webp quality (default: 80)', parseCount)
  .addHelpText(
    'after',
    `
Waits for a desktop that is still starting.
${examples('computer screenshot first', 'computer screenshot first - --format webp > now.webp')}`,
  )
  .action(async (ref, file, options) => {
    if (file === '-' && process.stdout.isTTY)
      throw new ApiError(
        'invalid_request',
        'refusing to write image data to a terminal; pass a file name',
      )
    const format = options.format ?? formatOf(file)
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const { bytes, width, height } = await spin(`Capturing ${machine.name}`, () =>
      machine.screenshot({ format, quality: options.quality }),
    )
    if (file === '-') {
      process.stdout.write(bytes)
      return
    }
    const path = file ?? `${machine.name}.${format}`
    await writeFile(path, bytes)
    showDone(`${path} (${width}x${height})`, { path, format, width, height }, options)
  })

function formatOf(file: string | undefined): Format {
  const extension = extname(file ?? '')
    .slice(1)
    .toLowerCase()
  if (extension === 'jpg') return 'jpeg'
  return formats.find((format) => format === extension) ?? 'png'
}

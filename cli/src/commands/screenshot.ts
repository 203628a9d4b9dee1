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
  .description('Save a picture of the desktop of a machine.')
  .argument('<machine>', 'its id or name')
  .argument('[file]', 'where to; - is standard output (default: NAME.png)')
  .addOption(new Option('--format <format>', "default: the file's own").choices(formats))
  .option('--quality <percent>', 'of jpeg and webp (default: 80)', parseCount)
  .addHelpText(
    'after',
    `
A desktop that is still starting is waited for.
${examples('computer screenshot first', 'computer screenshot first - --format webp > now.webp')}`,
  )
  .action(async (ref, file, options) => {
    if (file === '-' && process.stdout.isTTY)
      throw new ApiError('invalid_request', 'a picture is nothing for a terminal: name a file')
    const format = options.format ?? formatOf(file)
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const { bytes, width, height } = await spin(`Looking at ${machine.name}`, () =>
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

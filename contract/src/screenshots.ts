import { z } from 'zod'

export const ScreenshotFormat = z.enum(['png', 'jpeg', 'webp']).meta({ id: 'ScreenshotFormat' })
export type ScreenshotFormat = z.infer<typeof ScreenshotFormat>

const coordinate = '\\d{1,4}'
const rectangle = `${coordinate},${coordinate},[1-9]\\d{0,3},[1-9]\\d{0,3}`
const milliseconds = z.coerce.number().int().min(0)

const region = z
  .string()
  .regex(new RegExp(`^${rectangle}$`), 'must be x,y,width,height in pixels of the display')
  .optional()
  .describe(
    'A part of the display as x,y,width,height in pixels, such as 0,0,640,400. Default: all of it.',
  )
const ignore = z
  .string()
  .regex(
    new RegExp(`^${rectangle}(;${rectangle}){0,15}$`),
    'must be up to 16 of x,y,width,height in pixels of the display, separated by ;',
  )
  .optional()
  .describe(
    'Up to 16 rectangles in which movement does not count, such as a video: x,y,width,height in ' +
      'pixels of the display, separated by a semicolon.',
  )

/** How a screenshot is taken. The guest agent takes the same (guest.ts). */
export const screenshotQuery = {
  format: ScreenshotFormat.optional().describe(
    'Default: the format that the accept header names first, or else png.',
  ),
  quality: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(80)
    .describe('Compression quality of jpeg and webp. Ignored for png.'),
  region,
  scale: z.coerce
    .number()
    .min(0.05)
    .max(1)
    .optional()
    .describe('The size of the image as a factor of the size of the region. Default: 1.'),
  max_width: z.coerce
    .number()
    .int()
    .min(16)
    .max(16_384)
    .optional()
    .describe('Scale a wider image down to this width, in pixels.'),
  settle_ms: milliseconds
    .max(5_000)
    .optional()
    .describe(
      'Take the screenshot once nothing in the region has moved for this many milliseconds. Blinking ' +
        'text cursors and clocks do not count. Default: 0, which waits for nothing.',
    ),
  timeout_ms: milliseconds
    .max(30_000)
    .default(5_000)
    .describe(
      'The longest wait for settle_ms, in milliseconds. Then the screenshot is taken nevertheless.',
    ),
  ignore,
}

export const Rectangle = z
  .object({ x: z.int(), y: z.int(), width: z.int(), height: z.int() })
  .meta({ id: 'Rectangle', description: 'A part of the display, in pixels.' })

/** The field that an error names if the screen has changed since the screenshot of the caller. */
export const staleScreenField = 'x-if-screenshot'

/** Names the screen that an image shows. An unchanged screen keeps its id. */
export const ScreenshotId = z.string().regex(/^[\w-]{1,64}$/)

export const Screenshot = z
  .object({
    id: ScreenshotId.nullable().describe(
      'Names the screen that the image shows, for x-if-screenshot. An unchanged screen keeps its id. Null if ' +
        "the machine's agent is of an earlier version.",
    ),
    image: z.string().describe('The image, in base64.'),
    format: ScreenshotFormat,
    width: z.int().describe('The width of the image, in pixels.'),
    height: z.int().describe('The height of the image, in pixels.'),
    display: z.object({ width: z.int(), height: z.int() }),
    settled: z
      .boolean()
      .nullable()
      .describe('Whether the screen had settled. Null without settle_ms.'),
    changing: Rectangle.nullable().describe(
      'Where the screen moved in the last `settle_ms`, if it had not settled.',
    ),
  })
  .meta({ id: 'Screenshot' })

/** How to wait for a change of the screen. The guest agent takes the same (guest.ts). */
export const ScreenWaitQuery = z.strictObject({
  since: ScreenshotId.describe('The id of a screenshot. The last 32 screens are known.'),
  region,
  ignore,
  timeout_ms: milliseconds
    .max(30_000)
    .default(5_000)
    .describe('The longest wait, in milliseconds.'),
})

export const ScreenWait = z
  .object({
    changed: z.boolean().describe('False if nothing differed until the time was over.'),
    changing: Rectangle.nullable().describe('Where the screen differs from that screenshot.'),
  })
  .meta({ id: 'ScreenWait' })

import { z } from 'zod'
import { text } from './text.ts'

/** Request bodies of the input routes. The guest agent takes the same shapes (guest.ts). */

export const Point = z
  .strictObject({ x: z.int(), y: z.int() })
  .meta({ id: 'Point', description: 'A pixel of the display, counted from the top left corner.' })
export type Point = z.infer<typeof Point>

export const MouseButton = z.enum(['left', 'middle', 'right']).meta({ id: 'MouseButton' })
export type MouseButton = z.infer<typeof MouseButton>

export const MoveBody = z.strictObject({ x: z.int(), y: z.int() })
export const ClickBody = z.strictObject({
  at: Point.optional().describe('Default: the current position of the pointer.'),
  button: MouseButton.default('left'),
  count: z.int().min(1).max(3).default(1).describe('The number of clicks: 2 is a double click.'),
  down: z.boolean().optional().describe('Press the button and keep it pressed.'),
  up: z.boolean().optional().describe('Release the button without pressing it.'),
})
export const DragBody = z.strictObject({
  from: Point.optional().describe('Default: the current position of the pointer.'),
  to: Point,
  button: MouseButton.default('left'),
  steps: z.int().min(1).max(1000).default(20).describe('The number of pointer moves sent.'),
})
const ScrollDirection = z.enum(['up', 'down', 'left', 'right'])
export const ScrollBody = z.strictObject({
  direction: ScrollDirection,
  amount: z.int().min(1).max(100).default(3).describe('The number of wheel notches.'),
  at: Point.optional().describe('Default: the current position of the pointer.'),
})
export const TypeBody = z.strictObject({
  text: text(10_000),
  delay_ms: z
    .int()
    .min(0)
    .max(1000)
    .default(0)
    .describe('The pause after each character, in milliseconds.'),
})
const keyName = text(64, 1).describe('An X keysym name, or an alias such as enter or ctrl.')
export const KeyBody = z.strictObject({
  key: keyName,
  down: z.boolean().optional().describe('Press the key and keep it pressed.'),
  up: z.boolean().optional().describe('Release the key without pressing it.'),
})
export const HotkeyBody = z.strictObject({
  keys: z
    .array(keyName)
    .min(1)
    .max(16)
    .describe('Keys to press in this order. They are released in reverse.'),
})
export const ResizeBody = z.strictObject({
  width: z.int().min(320).max(7680),
  height: z.int().min(200).max(4320),
})
export const ClipboardSelection = z
  .enum(['clipboard', 'primary'])
  .meta({ id: 'ClipboardSelection' })
export const ClipboardBody = z.strictObject({
  text: text(4 * 1024 * 1024),
  selection: ClipboardSelection.default('clipboard'),
})

export const Display = z
  .object({
    width: z.int(),
    height: z.int(),
    up: z.boolean().describe('Whether the desktop is up.'),
  })
  .meta({ id: 'Display' })
export type Display = z.infer<typeof Display>

import { ApiError, ScreenGuard, type Machine } from '@computer/sdk'
import { lookAt } from './active-help.ts'
import { renderImage, scaledSize } from './images.ts'
import { ToolError } from './tool-error.ts'
import type { ToolCall, ToolResult } from './tool.ts'

/** How long nothing must have moved before a picture is taken, and the longest wait for that. */
const settling = { settleMs: 200, timeoutMs: 3_000 } as const

/** What has been done, with a picture of the screen afterwards. */
export async function showEffect(
  call: ToolCall,
  machine: Machine,
  done: string,
): Promise<ToolResult> {
  try {
    const [image, text] = await showScreen(call, machine)
    return [image, { type: 'text', text: `${done} on ${machine.name}. ${text.text}` }]
  } catch (error) {
    // The action itself has succeeded, and must not be repeated for want of a picture.
    const isExplained = error instanceof ApiError || error instanceof ToolError
    if (call.signal.aborted || !isExplained) throw error
    return `${done} on ${machine.name}. Its screen could not be shown: ${error.message}`
  }
}

/** A picture of the screen once it has settled, in which the model's next coordinates are. */
export async function showScreen({ connection, signal }: ToolCall, machine: Machine) {
  const shot = await lookAt(machine, () =>
    machine.screenshot({ format: 'png', ...settling, signal }),
  )
  const { content, shown } = await renderImage(shot.bytes)
  const { width, height } = shot.display
  const guard = new ScreenGuard()
  guard.show(shot)
  const shownAtMs = performance.now()
  connection.views.set(machine.id, { display: { width, height }, guard, shownAtMs })
  const size = `${shown.width}x${shown.height}`
  const isScaled = scaledSize(shot.display).width !== width
  const scaleNote = isScaled ? `, scaled down from a display of ${width}x${height}` : ''
  const picture = `The screen of ${machine.name}: ${size} pixels${scaleNote}.`
  const movement = shot.settled ? '' : ' It was still changing.'
  const text = `${picture}${movement} Give coordinates in this picture.`
  return [content, { type: 'text' as const, text }] as const
}

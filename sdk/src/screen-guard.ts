import type { Screenshot } from './display.ts'
import { ApiError } from './errors.ts'
import type { InputOptions } from './options.ts'

type Point = { readonly x: number; readonly y: number }

/**
 * Ties the input of a model to the picture that it saw last, so that a screen which has changed since refuses it. Show it
 * each picture, and pass its options to the input that the model chooses.
 */
export class ScreenGuard {
  #seen: Pick<Screenshot, 'id' | 'changing'> | undefined

  show(shot: Screenshot): void {
    this.#seen = shot
  }

  /**
   * The options of an input at a point of the display, or where the pointer is. Input that follows it without another
   * picture has no condition, because the first changes the screen itself; nor has input where something was
   * moving in the picture.
   */
  options(point?: Point): Pick<InputOptions, 'ifScreenshot'> {
    const seen = this.#seen
    this.#seen = undefined
    if (!seen || (point && isMoving(seen, point))) return {}
    return { ifScreenshot: seen.id }
  }
}

export function guardHeaders(
  ifScreenshot: InputOptions['ifScreenshot'],
  tolerance: InputOptions['tolerance'],
): Record<string, string> {
  if (!ifScreenshot) return {}
  return {
    'x-if-screenshot': ifScreenshot,
    ...(tolerance && { 'x-screen-tolerance': tolerance }),
  }
}

/** Whether input was refused because the screen has changed since the screenshot that it named. */
export function isStaleScreen(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.code !== 'precondition_failed') return false
  return error.details.some(({ field }) => field === 'x-if-screenshot')
}

function isMoving({ changing }: Pick<Screenshot, 'changing'>, { x, y }: Point): boolean {
  if (!changing) return false
  const [right, bottom] = [changing.x + changing.width, changing.y + changing.height]
  return x >= changing.x && y >= changing.y && x < right && y < bottom
}

import type { Locator, Page } from 'playwright-core'

const mostPresses = 80

/** Presses Tab until the focus is on the element, as a person without a mouse does. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < mostPresses; presses++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${String(target)} is not reached by Tab`)
}

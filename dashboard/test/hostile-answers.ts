import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { changeAnswers } from './answers.ts'
import { hostileTexts } from './hostile-texts.ts'

/*
 * Answers of the API whose texts are hostile, more so than the server would accept: a page may not rely on
 * what another part refuses today.
 */

/** Fields that people and programs choose, or that repeat something that they chose. */
const freeFields = new Set([
  'name',
  'machine_name',
  'description',
  'message',
  'email',
  'address',
  'title',
  'label',
  'user_agent',
  'owner',
  'mode',
  'target',
  'region',
  'error',
  'last_error',
  'message_id',
  'prefix',
  'url',
  'access_url',
  'accept_url',
  'secret',
  'text',
  'content',
  'image_name',
  'upgrade_url',
  'reason',
  'choice',
  'command',
  'user',
])

/** Gives every free field a text. Lists get an item for each text of the corpus. */
export async function poison(page: Page, single: string): Promise<void> {
  await changeAnswers(page, {
    change: (_path, { status, json }) => {
      const { data } = json as { data?: unknown }
      const isList = Array.isArray(data) && data.length > 0
      const changed = isList ? { ...(json as object), data: many(data) } : poisoned(json, single)
      return { status, json: changed }
    },
  })
}

function many(data: readonly object[]): object[] {
  return hostileTexts.map((text, index) => {
    const item = poisoned(data[index % data.length], text) as Record<string, unknown>
    // Each is another one: an id is 26 characters after its prefix, and of a file the path is.
    if (typeof item['id'] === 'string') item['id'] = item['id'].slice(0, -3) + fixed(index)
    if (typeof item['path'] === 'string') item['path'] = `/home/agent/${index}/${text}`
    if (typeof item['sequence'] === 'number') item['sequence'] = 1_000 - index
    return item
  })
}

const fixed = (index: number) => String(index).padStart(3, '0')

function poisoned(value: unknown, text: string): unknown {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, text))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => {
    if (key === 'metadata') return [key, Object.fromEntries([[text, text]])]
    if (key === 'labels') return [key, { team: text }]
    if (key === 'keys') return [key, [text, 'team']]
    if (key === 'choices') return [key, item && [text, text]]
    if (key === 'types') return [key, item && [text, text]]
    // Of activity and of other messages of webhooks, the types are open.
    if (key === 'type' && 'message_id' in value) return [key, text]
    return [key, freeFields.has(key) && typeof item !== 'object' ? text : poisoned(item, text)]
  })
  return Object.fromEntries(entries)
}

/** Begins to count what runs in the page that was not in its files. */
export async function watchCanary(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const watched = globalThis as unknown as { ran: number; canary: () => void }
    watched.ran = 0
    watched.canary = () => void watched.ran++
  })
}

/** Nothing of the texts has become an element, an address or a script. */
export async function assertHarmless(page: Page, where: string): Promise<void> {
  const found = await page.evaluate(() => {
    const dangerous = [
      'script:not([src^="/"])',
      'iframe, frame, object, embed, applet, base, portal, form[action], [formaction]',
      'link[href*="evil"], meta[http-equiv], style, marquee, video, audio, math, isindex',
    ].join(',')
    const elements = [...document.querySelectorAll(dangerous)].map(({ outerHTML }) => outerHTML)
    const handlers = [...document.querySelectorAll('*')].flatMap((element) =>
      [...element.attributes].filter(({ name }) => name.startsWith('on')).map(({ name }) => name),
    )
    const links = [...document.querySelectorAll('[href], [src], [ping], [srcset]')].flatMap(
      (element) => ['href', 'src', 'ping', 'srcset'].map((name) => element.getAttribute(name)),
    )
    const evil = links.filter((link) => {
      if (link === null) return false
      // A browser resolves `//host` to another host, and links may have other schemes.
      const { protocol } = new URL(link, location.href)
      return (
        !['http:', 'https:', 'blob:', 'data:'].includes(protocol) || /^data:(?!image)/.test(link)
      )
    })
    const { ran } = globalThis as unknown as { ran: number }
    return { ran, elements, handlers, evil, href: location.origin }
  })
  const origin = new URL(page.url()).origin
  assert.deepEqual(found, { ran: 0, elements: [], handlers: [], evil: [], href: origin }, where)
}

/** How many texts of the corpus the page shows as they are. */
export function countShown(page: Page): Promise<number> {
  return page.evaluate(
    (texts) => {
      // A value of a field is shown as well.
      const fields = [...document.querySelectorAll('input, textarea')].map(
        (field) => (field as HTMLInputElement).value,
      )
      const all = [document.body.textContent, ...fields].join('\n')
      return texts.filter((text) => all.includes(text)).length
    },
    hostileTexts.filter((text) => text.isWellFormed()),
  )
}

export async function tooWide(page: Page): Promise<number> {
  return page.evaluate(() => {
    const content = document.getElementById('content') ?? document.body
    return Math.max(
      content.scrollWidth - content.clientWidth,
      document.body.scrollWidth - innerWidth,
    )
  })
}

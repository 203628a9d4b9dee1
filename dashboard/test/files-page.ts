import assert from 'node:assert/strict'
import type { Page, Request, Route } from 'playwright-core'
import type { Lifetime } from '../../server/test/harness.ts'
import { openPage, type Dashboard, type PageOptions } from './harness.ts'

export type FilesPage = Awaited<ReturnType<typeof openFiles>>

/** The files of a machine of the fake engine, whose agent is the real one. */
export async function openFiles(
  t: Lifetime,
  dashboard: Dashboard,
  { id, path }: { readonly id: string; readonly path: string },
  options: PageOptions = {},
) {
  const search = new URLSearchParams({ path })
  const page = await openPage(t, dashboard, `/m/${id}/files?${search}`, options)
  const uploads = page.getByRole('region', { name: 'Uploads' })
  return {
    page,
    uploads,
    rows: page.locator('[data-row]'),
    row: (name: string) =>
      page.locator('[data-row]').filter({ has: page.getByText(name, { exact: true }) }),
    /** The first input takes files, the second a folder. */
    choose: (files: string | string[], kind: 'files' | 'folder' = 'files') =>
      page
        .locator('input[type=file]')
        .nth(kind === 'files' ? 0 : 1)
        .setInputFiles(files),
    async act(name: string, action: string): Promise<void> {
      await page.getByRole('button', { name: `Actions of ${name}`, exact: true }).click()
      await page.getByRole('menuitem', { name: action, exact: true }).click()
    },
    uploaded: (count: number) =>
      uploads
        .getByRole('paragraph')
        .filter({ hasText: `${count} file${count === 1 ? '' : 's'} uploaded` })
        .waitFor(),
  }
}

/** A folder of its own on a machine that the tests of a file share. */
export function machineFiles({ owner }: Pick<Dashboard, 'owner'>, id: string, folder: string) {
  const run = async (script: string): Promise<string> => {
    const command = ['sh', '-c', script]
    const { status, body } = await owner.call('POST', `/v1/machines/${id}/exec`, {
      command,
      cwd: folder,
    })
    assert.deepEqual([status, body.exit_code], [200, 0], JSON.stringify(body))
    return body.stdout
  }
  return {
    id,
    path: folder,
    run,
    async put(name: string, content: string | Buffer): Promise<void> {
      const isText = typeof content === 'string'
      const { status } = await owner.call('PUT', `/v1/machines/${id}/files/content`, {
        path: `${folder}/${name}`,
        content: isText ? content : content.toString('base64'),
        encoding: isText ? 'utf8' : 'base64',
      })
      assert.equal(status, 200, name)
    },
  }
}

/** Holds the uploads of a page back, until each is let go. */
export async function holdUploads(page: Page) {
  const held: Route[] = []
  let isOver = false
  const listeners: (() => void)[] = []
  await page.route(isUpload, async (route) => {
    if (isOver || route.request().method() !== 'PUT') return route.continue()
    held.push(route)
    for (const listener of listeners) listener()
  })
  return {
    held,
    /** Resolves when as many uploads wait. */
    count: (count: number) =>
      new Promise<void>((resolve) => {
        const check = () => held.length >= count && resolve()
        listeners.push(check)
        check()
      }),
    pass: () => Promise.all(held.splice(0).map((route) => route.continue())),
    /** Lets all go that are held, and those to come. */
    end() {
      isOver = true
      return this.pass()
    },
  }
}

/** 0 for other requests, and for one that asks how much has arrived. */
export function sizeOfPiece(request: Request): number {
  const isPiece = new URL(request.url()).searchParams.get('append') === 'true'
  return isPiece ? (request.postDataBuffer()?.length ?? 0) : 0
}

export const isUpload = (url: URL) => url.pathname.endsWith('/files/content')

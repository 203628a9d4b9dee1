import type { ApiClient } from '../harness/api.ts'
import { eventually } from '../harness/polling.ts'

/*
 * The browser of a machine, and a site in the same machine. `/set` sets a persistent cookie; the site
 * records the cookies of each visit to `/set` and `/read`.
 */
const site = `
import http.server, os, urllib.parse
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition('?')
        self.send_response(200)
        self.send_header('content-type', 'text/html')
        if path == '/set':
            self.send_header('set-cookie', 'visit=%s; max-age=86400' % query)
        self.end_headers()
        self.wfile.write(b'<!doctype html><title>Site</title>ok')
        if path in ('/set', '/read'):
            open('/tmp/visits', 'a').write('%s %s\\n' % (self.path, self.headers.get('cookie')))
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Site).serve_forever()
`

/** Makes the browser store a cookie with that value on the disk. */
export async function takeCookie(api: ApiClient, id: string, value: string): Promise<void> {
  await browse(api, id, `/set?${value}`)
  await closeBrowser(api, id)
}

/** The cookies that the browser sends. The browser stays open. */
export async function readCookie(api: ApiClient, id: string): Promise<string> {
  return (await browse(api, id, '/read')).split(' ').slice(1).join(' ')
}

/** Closes the window, so that the browser writes its profile to the disk. */
export async function closeBrowser(api: ApiClient, id: string): Promise<void> {
  // The window may appear after the visit, and keys would reach it only once it has the focus.
  await eventually('the window of the browser is asked to close', () =>
    api.run(id, ['wmctrl', '-x', '-c', 'chromium']).then(
      () => true,
      () => false,
    ),
  )
  await eventually('the browser has ended', async () => {
    const left = await api.run(id, ['sh', '-c', 'pgrep -x chromium || true'])
    return left === ''
  })
}

/** Visits a path and resolves to the line that the site recorded. */
async function browse(api: ApiClient, id: string, path: string): Promise<string> {
  await api.waitForDesktop(id)
  await api.ok('PUT', `/v1/machines/${id}/files/content`, { path: '/tmp/site.py', content: site })
  // The next site needs the port of the one before.
  const end = 'while pkill -f /tmp/site.p[y]; do sleep 0.1; done; rm -f /tmp/visits'
  await api.run(id, ['sh', '-c', end])
  await api.launch(id, 'python3 /tmp/site.py')
  await eventually('the site answers', () =>
    api.run(id, ['curl', '-sf', 'http://127.0.0.1:8000/']).catch(() => undefined),
  )
  await api.launch(id, `chromium --no-first-run http://127.0.0.1:8000${path}`)
  return eventually(`the browser has visited ${path}`, async () => {
    const visits = await api.run(id, ['sh', '-c', 'cat /tmp/visits || true'])
    return visits.split('\n').find((line) => line.startsWith(path))
  })
}

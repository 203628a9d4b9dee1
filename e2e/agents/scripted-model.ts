import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import sharp from 'sharp'

/** An image that a model was shown: three bytes for each pixel. */
export type Picture = { readonly width: number; readonly height: number; readonly data: Buffer }

/** The answer of a program to the model's latest actions. */
export type Seen = {
  /** The latest picture. */
  readonly picture: Picture | undefined
  /** The mistake in the latest actions. */
  readonly mistake: string | undefined
}

/** The turns of a model: each action is chosen by the answer to the one before. */
export type Script<Action> = (first: Seen) => Generator<Action, void, Seen>

/** How a vendor's API carries what a model sees and does. */
export type Vendor<Action> = {
  /** Reads a request, and checks that it is what the vendor accepts. */
  read(request: unknown): Promise<Seen> | Seen
  write(action: Action | undefined, turn: number): object
}

/** A vendor's API on loopback whose model follows a script. */
export async function startModel<Action>(vendor: Vendor<Action>, script: Script<Action>) {
  let turn = 0
  let running: ReturnType<Script<Action>> | undefined
  const failures: unknown[] = []
  const answer = async (request: IncomingMessage) => {
    const seen = await vendor.read(await json(request))
    // The first `next` of a generator ignores its value.
    const { value } = running ? running.next(seen) : (running = script(seen)).next()
    return vendor.write(value ?? undefined, ++turn)
  }
  const server = createServer((request, response) => {
    answer(request).then(
      (body) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
      (error: unknown) => {
        failures.push(error)
        response.writeHead(400).end()
      },
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Faults that the model found in a request or a picture. */
    failures,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export async function decode(base64: string): Promise<Picture> {
  const picture = sharp(Buffer.from(base64, 'base64')).removeAlpha().raw()
  const { data, info } = await picture.toBuffer({ resolveWithObject: true })
  return { data, width: info.width, height: info.height }
}

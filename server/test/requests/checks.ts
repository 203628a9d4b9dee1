import { errorStatus, type ErrorEnvelope } from '@computer/contract'
import assert from 'node:assert/strict'
import { mayCall, type Caller } from './callers.ts'
import type { PublishedDocument } from './document.ts'
import type { SentRequest } from './request.ts'
import type { Place } from './world.ts'

export type RawAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

const maxMessageLength = 2_000
const maxDetails = 20

/** Checks an answer against the document and the permissions of its caller. */
export function checkAnswer(
  document: PublishedDocument,
  caller: Caller,
  request: SentRequest,
  answer: RawAnswer,
): void {
  const { status, headers } = answer
  const operation = document.operationAt(request.method, pathOf(request))
  const [type] = String(headers['content-type'] ?? '').split(';')
  assert.ok(status !== 500, 'the server failed')
  assert.equal(typeof headers['x-request-id'], 'string', 'no x-request-id')
  if (operation === undefined) {
    // Every other path is a page of the dashboard for whoever asks for one, such as /V1/machines.
    if (status === 200 && type === 'text/html') return
    assert.ok([400, 404].includes(status), 'a success of no operation of the document')
    if (request.method !== 'HEAD') checkError(answer)
    return
  }
  const documented = document.contentOf(operation, status)
  assert.ok(
    documented !== undefined,
    `status ${status} is not documented for ${operation.operationId}`,
  )
  if (status < 400) assert.ok(mayCall(caller, operation), 'the caller lacks the permission')
  else checkError(answer)
  if (documented.length === 0) return assert.equal(answer.text, '')
  const isDocumented = documented.some((one) =>
    one.endsWith('/*') ? type!.startsWith(one.slice(0, -1)) : type === one,
  )
  assert.ok(isDocumented, `content type ${type} is not documented`)
  if (type !== 'application/json') return
  const mismatch = document.findMismatch(operation, status, JSON.parse(answer.text))
  assert.equal(mismatch, null, `the body does not match the document: ${mismatch}`)
}

function checkError({ status, headers, text }: RawAnswer): void {
  const { error } = JSON.parse(text) as ErrorEnvelope
  assert.equal(error.request_id, headers['x-request-id'])
  // A range past the end of a file has a status of its own.
  const fits =
    errorStatus[error.code] === status || (status === 416 && error.code === 'invalid_request')
  assert.ok(fits, `${error.code} with status ${status}`)
  assert.notEqual(error.code, 'internal_error')
  assert.ok(error.message.length > 0 && error.message.length < maxMessageLength, 'message length')
  assert.ok((error.details?.length ?? 0) <= maxDetails, 'too many details')
}

/** The path that the server sees. */
function pathOf({ url, isRaw }: SentRequest): string {
  const path = isRaw ? url.split('?')[0]! : new URL(url, 'http://localhost').pathname
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

const idPattern = /\b[a-z]{3}_[0-9a-z]{26}\b/g

/** Finds what an answer tells its caller about the organizations of others. */
export function createLeakCheck(places: readonly Place[]) {
  const ownerOf = new Map<string, Place>()
  const sentFrom = new Map<Place | null, Set<string>>()

  return {
    /** Notes the ids of each organization's rows. */
    learn(): void {
      for (const place of places) {
        for (const [name, ids] of Object.entries(place.ids)) {
          if (name !== 'ImageId') for (const id of ids) ownerOf.set(id, place)
        }
      }
    },
    noteSent(caller: Caller, request: SentRequest): void {
      const sent = sentFrom.get(caller.place) ?? new Set()
      sentFrom.set(caller.place, sent)
      for (const [id] of textOf(request).matchAll(idPattern)) sent.add(id)
    },
    check(caller: Caller, request: SentRequest, { text }: RawAnswer): void {
      for (const place of places.filter((one) => one !== caller.place)) {
        assert.ok(
          !text.toLowerCase().includes(place.mark),
          `the answer has a name of ${place.mark}`,
        )
      }
      // The audit log repeats the ids of refused calls.
      const isAudit = request.url.includes('audit-events')
      const sent = isAudit ? sentFrom.get(caller.place)! : new Set(textOf(request).match(idPattern))
      for (const [id] of text.matchAll(idPattern)) {
        const owner = ownerOf.get(id)
        const isForeign = owner !== undefined && owner !== caller.place
        assert.ok(!isForeign || sent.has(id), `the answer has ${id} of ${owner?.mark}`)
      }
    },
  }
}

function textOf({ url, headers, body = '' }: SentRequest): string {
  return `${url} ${JSON.stringify(headers)} ${body.toString('utf8')}`
}

import { endpoints, errorStatus, openApiDocument, type JsonSchema } from '@computer/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderReference } from '../src/api/docs/reference.ts'

const document = openApiDocument(endpoints, { version: '1.2.3', url: 'https://example.test' })
const operations = Object.values(document.paths).flatMap((path) => Object.values(path))

test('every endpoint is one operation, tagged with its resource', () => {
  const expected = Object.entries(endpoints).flatMap(([tag, group]) =>
    Object.keys(group).map((name) => `${tag}.${name}`),
  )
  const ids = operations.map(({ operationId }) => operationId)
  assert.deepEqual(ids.toSorted(), expected.toSorted())
  assert.deepEqual(operations.find((one) => one.operationId === 'machines.create')?.tags, [
    'machines',
  ])
})

test('every operation documents its errors and required permission', () => {
  const statuses = Object.values(errorStatus).map(String)
  for (const { responses, operationId, ...operation } of operations) {
    const errors = Object.keys(responses).filter((status) => Number(status) >= 400)
    const own = operationId === 'files.read' ? ['416'] : []
    assert.deepEqual(errors.toSorted(), [...statuses, ...own].toSorted(), operationId)
    assert.ok(operation['x-requires'])
  }
})

test('a read of a range documents the status of a part and that of a range past the end', () => {
  const { responses } = operations.find((one) => one.operationId === 'files.read')!
  for (const [status, type] of [
    ['206', 'application/octet-stream'],
    ['416', 'application/json'],
  ] as const) {
    const response = responses[status]!
    assert.ok(!('$ref' in response))
    assert.deepEqual(Object.keys(response.content ?? {}), [type])
    assert.ok(response.headers?.['content-range'])
  }
})

test('responses document their headers, and operations on one machine their alias', () => {
  for (const { responses, operationId, parameters } of operations) {
    for (const response of Object.values(responses)) {
      if (!('$ref' in response)) assert.ok(response.headers?.['x-request-id'], operationId)
    }
    const takesKey = parameters.some(({ name }) => name === 'idempotency-key')
    const replays = Object.values(responses).some(
      (response) => !('$ref' in response) && response.headers?.['idempotent-replayed'],
    )
    assert.equal(replays, takesKey, operationId)
  }
  const { headers = {} } = document.components.responses['compute_unavailable']!
  assert.ok(headers['retry-after'])
  const shot = document.paths['/v1/machines/{machine_id}/screenshot']!['get']!
  assert.equal(shot['x-alias'], '/machines/{machine_id}/screenshot')
  const success = shot.responses['200']!
  assert.ok(!('$ref' in success) && success.headers?.['x-display-width'])
  assert.match(shot.description, /Also served at `\/machines\/\{machine_id\}\/screenshot`/)
  assert.equal(document.paths['/v1/machines/{machine_id}']!['get']!['x-alias'], undefined)
})

test('a parameter that needs another permission says so', () => {
  const { description } = operations.find((one) => one.operationId === 'machines.delete')!
  assert.match(description, /`snapshots` also requires `snapshots:delete`/)
})

test('the states of an event are those of machines', () => {
  const event = document.components.schemas['MachineEvent'] as JsonSchema
  const { from_state, to_state } = event['properties'] as Record<string, JsonSchema>
  for (const field of [from_state, to_state]) {
    assert.match(JSON.stringify(field), /#\/components\/schemas\/MachineState/)
  }
})

test('all references resolve, and no artifacts of the converter are left', () => {
  const text = JSON.stringify(document)
  for (const [, path] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const found = path!
      .split('/')
      .reduce<unknown>((value, key) => (value as JsonSchema | undefined)?.[key], document)
    assert.ok(found, `#/${path} leads nowhere`)
  }
  assert.doesNotMatch(text, /\$defs|\$schema|9007199254740991|\(\?:/)
})

test('parameters include path, query, headers and the idempotency key', () => {
  const named = (id: string) =>
    operations
      .find(({ operationId }) => operationId === id)!
      .parameters.map((one) => `${one.in} ${one.name}${one.required ? '!' : ''}`)
  assert.ok(named('machines.create').includes('header idempotency-key'))
  assert.ok(named('machines.get').includes('path machine_id!'))
  assert.ok(named('files.read').includes('query path!'))
  assert.ok(named('files.write').includes('query path'))
  assert.ok(named('desktop.click').includes('header x-session-id'))
  for (const [path, methods] of Object.entries(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    for (const { parameters } of Object.values(methods)) {
      const given = parameters.filter((one) => one.in === 'path').map((one) => one.name)
      assert.deepEqual(given, inPath)
    }
  }
})

test('responses and bodies have content types', () => {
  const typesOf = (id: string) => {
    const { responses, requestBody } = operations.find((one) => one.operationId === id)!
    const response = responses['200']!
    const answer = '$ref' in response ? {} : (response.content ?? {})
    return [Object.keys(requestBody?.content ?? {}), Object.keys(answer)]
  }
  const json = 'application/json'
  const bytes = 'application/octet-stream'
  assert.deepEqual(typesOf('files.write'), [[json, bytes], [json]])
  assert.deepEqual(typesOf('files.read'), [[], [json, bytes]])
  assert.deepEqual(typesOf('desktop.screenshot'), [[], [json, 'image/*']])
  assert.deepEqual(typesOf('exec.run'), [[json], [json]])
})

test('the reference shows every operation and schema and loads no resources', () => {
  const page = renderReference(document)
  for (const { operationId } of operations) {
    assert.ok(page.includes(`<article id="${operationId}">`), operationId)
  }
  const anchors = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) {
    assert.ok(anchors.has(target), `#${target} leads nowhere`)
  }
  assert.doesNotMatch(page, /<script|<link|src=|@import|url\(|undefined|\[object/)
  assert.match(page, /https:\/\/example\.test\/v1\/machines/)
})

test('text of the document is escaped', () => {
  const title = '<b onclick="x">&'
  const page = renderReference({ ...document, info: { ...document.info, title } })
  assert.ok(!page.includes('<b onclick'))
  assert.ok(page.includes('&lt;b onclick=&quot;x&quot;&gt;&amp;'))
})

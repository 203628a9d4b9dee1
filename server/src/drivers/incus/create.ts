import type { CaptureId, ImageId } from '@computer/contract'
import { CaptureMissing, ImageMissing, type MachineSpec } from '../machine-driver.ts'
import { readContentBytes } from './captures.ts'
import type { Engine } from './engine.ts'
import { findImage } from './images.ts'
import { aliasOf, captureNameOf, instanceBody, nameOf } from './instance.ts'
import { findInstance, isComplete, makeInstance, memberOf } from './instances.ts'
import { leastLimitBytes } from './disks/limit-policy.ts'
import { EngineError } from './replies.ts'
import { requireFreeSpace, asPoolFull } from './disks/capacity.ts'

export async function createMachine(engine: Engine, spec: MachineSpec): Promise<void> {
  const body = { name: nameOf(spec), ...instanceBody(spec, await engine.readSettings()) }
  try {
    await makeInstance(engine, body.name, async () => {
      await requireFreeSpace(engine.client, engine.config)
      await (spec.captureId === null
        ? copyImage(engine, spec.imageId, body)
        : copyCapture(engine, spec.captureId, body))
    })
  } catch (error) {
    throw await explain(engine, spec, error)
  }
}

type Body = ReturnType<typeof instanceBody> & { readonly name: string }

async function copyImage(engine: Engine, id: ImageId, body: Body): Promise<void> {
  const { client, project } = engine
  const source = { type: 'image', alias: aliasOf(id) }
  await client.change('POST', '/1.0/instances', {
    query: { project, ...(await engine.readTarget()) },
    body: { ...body, source },
  })
}

async function copyCapture(engine: Engine, id: CaptureId, body: Body): Promise<void> {
  const { client, project } = engine
  const capture = await findInstance(engine, captureNameOf(id))
  // The engine would copy an incomplete capture without complaint.
  if (!capture || !isComplete(capture)) throw new CaptureMissing(id)
  const pool = await engine.openPool()
  const contentBytes = pool ? await readContentBytes(engine, pool, capture) : 0
  await client.change('POST', '/1.0/instances', {
    query: { project, ...memberOf(capture) },
    body: {
      ...body,
      devices: { ...body.devices, root: lowerSize(body.devices.root, contentBytes) },
      source: { type: 'copy', source: capture.name, instance_only: true },
    },
  })
}

/** The limit counts only the machine's own writes, so the content that it starts with is deducted. */
function lowerSize(root: Body['devices']['root'], contentBytes: number): Body['devices']['root'] {
  const bytes = Math.max(leastLimitBytes, Number.parseInt(root.size, 10) - contentBytes)
  return { ...root, size: `${bytes}B` }
}

/** A missing image is a final failure, which the engine's own error does not show. */
async function explain({ client }: Engine, spec: MachineSpec, error: unknown): Promise<unknown> {
  const mayLackImage = error instanceof EngineError && spec.captureId === null
  if (mayLackImage && !(await findImage(client, spec.imageId))) {
    return new ImageMissing(spec.imageId, { cause: error })
  }
  return asPoolFull(error)
}

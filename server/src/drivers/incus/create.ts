import type { CaptureId, ImageId } from '@computer/contract'
import { CaptureMissing, ImageMissing, type MachineSpec } from '../machine-driver.ts'
import { readHeldBytes } from './captures.ts'
import type { Engine } from './engine.ts'
import { findImage } from './images.ts'
import { aliasOf, captureNameOf, instanceBody, nameOf } from './instance.ts'
import { findInstance, isComplete, makeInstance, memberOf } from './instances.ts'
import { leastLimitBytes } from './disks/limit-policy.ts'
import { EngineError } from './replies.ts'
import { ensureRoom, explainFull } from './disks/capacity.ts'

export async function createMachine(engine: Engine, spec: MachineSpec): Promise<void> {
  const body = { name: nameOf(spec), ...instanceBody(spec, await engine.readSettings()) }
  try {
    await makeInstance(engine, body.name, async () => {
      await ensureRoom(engine.client, engine.config)
      await (spec.captureId === null
        ? copyImage(engine, spec.imageId, body)
        : copyCapture(engine, spec.captureId, body))
    })
  } catch (error) {
    throw await explain(engine, spec, error)
  }
}

type Body = ReturnType<typeof instanceBody> & { readonly name: string }

function copyImage({ client, project }: Engine, id: ImageId, body: Body): Promise<void> {
  const source = { type: 'image', alias: aliasOf(id) }
  return client.change('POST', '/1.0/instances', {
    query: { project },
    body: { ...body, source },
  })
}

async function copyCapture(engine: Engine, id: CaptureId, body: Body): Promise<void> {
  const { client, project } = engine
  const capture = await findInstance(engine, captureNameOf(id))
  // The engine would copy a half-made one just as well.
  if (!capture || !isComplete(capture)) throw new CaptureMissing(id)
  const pool = await engine.openPool()
  const heldBytes = pool ? await readHeldBytes(engine, pool, capture) : 0
  await client.change('POST', '/1.0/instances', {
    query: { project, ...memberOf(capture) },
    body: {
      ...body,
      devices: { ...body.devices, root: lessRoom(body.devices.root, heldBytes) },
      source: { type: 'copy', source: capture.name, instance_only: true },
    },
  })
}

/** The limit counts only what the machine itself will write, and not what its disk begins with. */
function lessRoom(root: Body['devices']['root'], heldBytes: number): Body['devices']['root'] {
  const bytes = Math.max(leastLimitBytes, Number.parseInt(root.size, 10) - heldBytes)
  return { ...root, size: `${bytes}B` }
}

/** What is missing is final; the engine's own refusal does not tell. */
async function explain({ client }: Engine, spec: MachineSpec, error: unknown): Promise<unknown> {
  const isEngines = error instanceof EngineError && spec.captureId === null
  if (isEngines && !(await findImage(client, spec.imageId))) {
    return new ImageMissing(spec.imageId, { cause: error })
  }
  return explainFull(error)
}

import { makeEngineTemplate } from './engine-template.ts'

/* A program of its own, so that `flock` can hold its lock while it runs. */
await makeEngineTemplate(process.argv[2]!)

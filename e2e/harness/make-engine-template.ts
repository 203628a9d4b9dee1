import { makeEngineTemplate } from './engine-template.ts'

/* A separate program, so that `flock` can hold its lock while it runs. */
await makeEngineTemplate(process.argv[2]!)

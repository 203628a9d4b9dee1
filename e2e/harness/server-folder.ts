import { makeDataDir } from './data-folder.ts'
import { copyEngineTemplate, templatePoolGib } from './engine-template.ts'
import { freePort, freePorts } from './ports.ts'

/** Prepares a data folder whose engine has the image, and an environment with free ports for its server. */
export async function prepareServer(name: string) {
  const dataDir = await makeDataDir(name)
  await copyEngineTemplate(dataDir)
  const [apiPort, gatewayPort] = [await freePort(), await freePort()]
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    COMPUTER_DATA: dataDir,
    COMPUTER_API_PORT: String(apiPort),
    COMPUTER_GATEWAY_PORT: String(gatewayPort),
    COMPUTER_METRICS_PORT: String(await freePorts(3)),
    COMPUTER_POOL_SIZE_GB: String(templatePoolGib),
  }
  return { dataDir, apiPort, gatewayPort, env }
}

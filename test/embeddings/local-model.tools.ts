/** The local model with its real packages, which npm installs into a temporary folder: 32 MB. Takes 5 s. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { findLocalPackages, ModelNotInstalledError } from '../../server/domain/embeddings/local-packages.ts'
import { outcomeOf } from '../support/command.ts'

const run = promisify(execFile)
const quietly = ['--no-audit', '--no-fund', '--ignore-scripts']

interface Embedded {
  readonly id: string
  readonly texts: readonly (readonly number[] | null)[]
  readonly question: readonly number[]
}

/** The first two mean the same, without a common word. */
const texts = [
  'How do I get my money back after a journey?',
  'Employees submit travel expenses for reimbursement within thirty days.',
  'The kitchen is cleaned on Fridays, and plants are watered.',
  '漢字 😀 \u{10ffff}',
  // Normalised, it is 18 times as long.
  'ﷺ'.repeat(2_400),
  '',
]

describe('the packages of the local model', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-packages-'))
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(await readFile('package.json', 'utf8'))
    const manifest = JSON.stringify({ peerDependencies, peerDependenciesMeta })
    await writeFile(join(folder, 'package.json'), manifest)
    await run('npm', ['install', ...quietly], { cwd: folder })
    const lock = await readFile(join(folder, 'package-lock.json'), 'utf8')
    // The command that a start without the packages prints.
    const [, command = ''] = /`npm (.*?)`/.exec(problemOf(folder)) ?? []
    await run('npm', [...command.split(' '), ...quietly], { cwd: folder })
    expect(problemOf(folder)).to.equal('none')
    expect(await readFile(join(folder, 'package.json'), 'utf8')).to.equal(manifest)
    expect(await readFile(join(folder, 'package-lock.json'), 'utf8')).to.equal(lock)
    expect(await readFile('server/deploy/README.md', 'utf8')).to.include(`\nnpm ${command}\n`)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const embed = async (): Promise<Embedded> => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'test/embeddings/embed-program.ts', folder])
    child.stdin.end(texts.join('\n'))
    const { code, stdout, stderr } = await outcomeOf(child)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    return JSON.parse(stdout)
  }

  it('give the same vectors in two processes, and near ones to texts that mean the same', async () => {
    const [one, other] = await Promise.all([embed(), embed()])
    expect(one).to.deep.equal(other)
    expect(one.question).to.deep.equal(one.texts[0])
    expect(one.texts.map((vector) => vector?.length)).to.deep.equal([512, 512, 512, 512, 512, undefined])
    const [question = [], near = [], far = []] = one.texts.map((vector) => vector ?? [])
    expect(cosine(question, near)).to.be.greaterThan(cosine(question, far) + 0.1)
  })

  it('are the releases that the code names', async () => {
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(await readFile('package.json', 'utf8'))
    expect(new Set(Object.values(peerDependencies))).to.deep.equal(new Set(['0.2.0']))
    for (const name of Object.keys(peerDependencies))
      expect(peerDependenciesMeta[name]).to.deep.equal({ optional: true })
    const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
    expect(Object.keys(packages).filter((path) => path.includes('@energetic-ai'))).to.deep.equal([])
  })
})

function problemOf(folder: string): string {
  try {
    findLocalPackages(folder)
    return 'none'
  } catch (error) {
    if (error instanceof ModelNotInstalledError) return error.message
    throw error
  }
}

function cosine(one: readonly number[], other: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0)
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other))
}

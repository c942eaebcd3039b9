/** The image of server/deploy/, read without building it. `test/deploy/image` builds and tries it. */

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { type Copy, DockerfileParser, type From, type Instruction, type JSONInstruction } from 'dockerfile-ast'
import { parse } from 'yaml'
import { variableNames } from '../../server/base/config.ts'

describe('the image', () => {
  let stages: Instruction[][]
  let ignored: string[]

  before(async () => {
    const instructions = DockerfileParser.parse(await readFile('server/deploy/Dockerfile', 'utf8')).getInstructions()
    stages = []
    for (const one of instructions) {
      if (one.getKeyword() === 'FROM') stages.push([])
      stages.at(-1)?.push(one)
    }
    ignored = (await readFile('server/deploy/Dockerfile.dockerignore', 'utf8')).trim().split('\n')
  })

  const argumentsOf = (stage: number, keyword: string) =>
    (stages[stage] ?? []).filter((one) => one.getKeyword() === keyword).map((one) => one.getArgumentsContent() ?? '')
  const environment = () =>
    Object.fromEntries(
      argumentsOf(1, 'ENV').flatMap((text) => text.split(/\s+/).map((pair) => pair.split('=') as [string, string])), // two parts
    )
  /** The paths that a stage copies, from the checkout or from another stage. */
  const copies = (stage: number) =>
    (stages[stage] ?? [])
      .filter((one): one is Copy => one.getKeyword() === 'COPY')
      .map((one) => ({
        from: one.getFromFlag()?.getValue(),
        paths: one.getArguments().map((argument) => argument.getValue()),
      }))

  /** The paths that the build has of the checkout. The last path of each copy is its destination. */
  const given = () => copies(0).flatMap(({ paths }) => paths.slice(0, -1))

  it('is built from the checkout alone, of what is not ignored', () => {
    expect(given()).to.include.members(['package.json', 'package-lock.json'])
    for (const path of given()) {
      expect(existsSync(path), path).to.equal(true)
      expect(ignored, path).to.not.include(path.split('/')[0])
    }
  })

  it('is given all that the build reads', async () => {
    const { sources } = JSON.parse(await readFile('dist/built.json', 'utf8'))
    const read = sources.filter((path: string) => !path.startsWith('node_modules/'))
    expect(read).to.include('tsconfig.json')
    expect(
      read.filter((path: string) => !given().some((one) => path === one || path.startsWith(`${one}/`))),
    ).to.deep.equal([])
  })

  it('holds what the package holds to run, from the stage that builds it', async () => {
    const { files } = JSON.parse(await readFile('package.json', 'utf8'))
    const [first] = stages[0] ?? []
    const built = (first as From | undefined)?.getBuildStage() // FROM begins a stage
    const taken = copies(1)
    expect(taken.map(({ from }) => from)).to.deep.equal(taken.map(() => built))
    const sources = taken.flatMap(({ paths }) => paths.slice(0, -1))
    // The documents, the files of this folder, the list of versions and what is left out are for npm.
    const needed = files.filter((path: string) => !/\.(md|png|yaml|json)$|^server\/deploy$|^!/.test(path))
    expect(sources).to.include.members(needed.map((path: string) => `/build/${path}`))
    expect(sources).to.include.members(['/build/package.json', '/build/node_modules'])
  })

  it('runs as a user without rights, with its data in a volume, on the port that it exposes', () => {
    expect(argumentsOf(1, 'USER')).to.deep.equal(['10001:10001'])
    const { DATA_DIR, PORT, HOST } = environment()
    expect([HOST, argumentsOf(1, 'EXPOSE'), argumentsOf(1, 'VOLUME')]).to.deep.equal(['0.0.0.0', [PORT], [DATA_DIR]])
    for (const name of Object.keys(environment())) expect(variableNames).to.include(name)
  })

  it('is stopped by a signal that reaches grove alone, and is asked for its health', () => {
    const words = (keyword: string) =>
      (stages[1] ?? [])
        .filter((one) => one.getKeyword() === keyword)
        .flatMap((one) => (one as JSONInstruction).getJSONStrings().map((word) => word.getJSONValue())) // as it is written
    expect([...words('ENTRYPOINT'), ...words('CMD')]).to.deep.equal(['tini', '--', 'grove', 'serve'])
    expect(argumentsOf(1, 'STOPSIGNAL')).to.deep.equal(['SIGTERM'])
    expect(argumentsOf(1, 'HEALTHCHECK').join()).to.include('/healthz')
  })

  it('is composed with a proxy that it trusts, and with variables that it knows', async () => {
    const { services, networks, volumes } = parse(await readFile('server/deploy/compose.yaml', 'utf8'))
    const { build, environment: given, volumes: mounted, stop_grace_period } = services.grove
    expect(existsSync(build.dockerfile)).to.equal(true)
    for (const name of Object.keys(given)) expect(variableNames).to.include(name)
    const [{ subnet }] = networks.inside.ipam.config
    expect([given.TRUST_PROXY, stop_grace_period]).to.deep.equal([subnet, '20s'])
    const [[volume, path]] = mounted.map((one: string) => one.split(':'))
    expect([Object.keys(volumes).includes(volume), path]).to.deep.equal([true, environment().DATA_DIR])
  })
})

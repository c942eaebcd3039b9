/** Makes the package as `npm pack` does. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Package {
  readonly paths: string[]
  readonly tarball: string
}

/**
 * Packs a copy of the checkout in `folder`, with the files that `prepack` makes. Other tests run the checkout's dist/,
 * which is already built.
 */
export async function pack(folder: string): Promise<Package> {
  const { files } = JSON.parse(await readFile('package.json', 'utf8'))
  // The shrinkwrap is made below.
  const taken: string[] = files.filter((path: string) => !path.startsWith('!') && path !== 'npm-shrinkwrap.json')
  for (const path of [
    'package.json',
    'package-lock.json',
    'README.md',
    'LICENSE',
    'server/build/shrinkwrap.js',
    ...taken,
  ]) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await cp(path, join(folder, path), { recursive: true })
  }
  const client = join(folder, 'dist/client')
  await run(process.execPath, ['node_modules/typescript-7/bin/tsc', '-p', 'spec/client', '--outDir', client])
  await run(process.execPath, ['server/build/shrinkwrap.js'], { cwd: folder })
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts'], { cwd: folder })
  const [packed] = JSON.parse(stdout)
  return { paths: packed.files.map(({ path }: { path: string }) => path), tarball: join(folder, packed.filename) }
}

/** Unpacks to `home`, where npm would install it. */
export async function unpack({ tarball }: Package, home: string): Promise<void> {
  await mkdir(home, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', home, '--strip-components=1'])
}

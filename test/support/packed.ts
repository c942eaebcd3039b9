/** The package as `npm pack` makes it. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The paths that `npm pack` takes from a folder. Without scripts: dist/ is built already, and others run it. */
export async function packedPaths(folder = '.'): Promise<string[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: folder })
  return JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => path)
}

/** Copies what is packed, with the client's types, which only `prepack` makes; its paths. */
export async function layOut(folder: string): Promise<string[]> {
  for (const path of await packedPaths()) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await cp(path, join(folder, path))
  }
  await run(process.execPath, [
    'node_modules/typescript/bin/tsc',
    '-p',
    'spec/client',
    '--outDir',
    join(folder, 'dist/client'),
  ])
  return packedPaths(folder)
}

/** Packs what `layOut` has laid out, and unpacks the tarball to where npm would install it. */
export async function installClient(laidOut: string, folder: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(laidOut, 'package.json'), 'utf8'))
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: laidOut })
  const home = join(folder, 'node_modules/grove')
  await mkdir(home, { recursive: true })
  await run('tar', ['-xzf', join(folder, `grove-${version}.tgz`), '-C', home, '--strip-components=1'])
}

/**
 * Writes npm-shrinkwrap.json from package-lock.json, without development dependencies.
 *
 * `npm install` of the package then installs the tested versions, because npm ignores the package-lock.json of a
 * package. `npm pack` writes the file and then removes it. In a checkout it would take precedence over
 * package-lock.json.
 */
import { readFile, rm, writeFile } from 'node:fs/promises'

const file = 'npm-shrinkwrap.json'

if (process.argv[2] === 'remove') {
  await rm(file, { force: true })
} else {
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8'))
  const needed = Object.entries(lock.packages).filter(([, { dev, devOptional }]) => !dev && !devOptional)
  const packages = Object.fromEntries(needed)
  const { devDependencies: _, ...root } = packages['']
  await writeFile(file, `${JSON.stringify({ ...lock, packages: { ...packages, '': root } }, null, 2)}\n`)
}

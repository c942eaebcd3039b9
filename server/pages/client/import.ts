/** The pages of an import: choosing, dropping and sending files, and the progress. */

import * as limits from '../../base/limits.ts'
import { isHiddenPath } from '../../markdown/hidden-paths.ts'

/** A file, and its path below the folder that was chosen. */
interface Chosen {
  readonly file: File
  readonly path: string
}

/** Milliseconds between two looks at an import. */
const lookEveryMs = 700

const form = document.querySelector<HTMLFormElement>('form[data-import-form]')
const run = document.querySelector<HTMLElement>('[data-import-run]')
if (form) takeFiles(form)
if (run) void follow(run)

function takeFiles(form: HTMLFormElement): void {
  const find = <E extends HTMLElement>(selector: string) => form.querySelector(selector) as E // the page has it
  const [folder, zip] = [find<HTMLInputElement>('#folder'), find<HTMLInputElement>('#zip')]
  const [drop, says] = [find('[data-drop]'), find('[data-chosen]')]
  let dropped: Chosen[] | undefined
  find('[data-drop-hint]').hidden = false
  const show = () => {
    says.textContent = wordsOf(dropped ?? [...chosenIn(folder), ...chosenIn(zip)])
  }
  for (const input of [folder, zip])
    input.addEventListener('change', () => {
      dropped = undefined
      const other = input === folder ? zip : folder
      if (input.value !== '') other.value = ''
      show()
    })
  drop.addEventListener('dragover', (event) => {
    event.preventDefault()
    drop.classList.add('over')
  })
  drop.addEventListener('dragleave', () => drop.classList.remove('over'))
  drop.addEventListener('drop', async (event) => {
    event.preventDefault()
    drop.classList.remove('over')
    const entries = [...(event.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry())
    folder.value = zip.value = ''
    says.textContent = 'Reading the folder…'
    dropped = (await Promise.all(entries.map((entry) => filesOf(entry)))).flat()
    show()
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    send(form, dropped ?? [...chosenIn(folder), ...chosenIn(zip)])
  })
}

function chosenIn({ files, name }: HTMLInputElement): Chosen[] {
  const chosen = [...(files ?? [])].map((file) => ({ file, path: file.webkitRelativePath || file.name }))
  return name === 'zip' ? chosen : chosen.filter(isVisible)
}

/** The name of the folder itself does not count. */
function isVisible({ path }: Chosen): boolean {
  return !isHiddenPath(path.slice(path.indexOf('/') + 1))
}

/** Reads a dropped file or folder with everything below it. */
async function filesOf(entry: FileSystemEntry | null, above = ''): Promise<Chosen[]> {
  if (entry === null || (above !== '' && isHiddenPath(entry.name))) return []
  const path = above + entry.name
  if (entry.isFile) {
    const file = await new Promise<File>((done, fail) => (entry as FileSystemFileEntry).file(done, fail))
    return [{ file, path }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: Chosen[] = []
  for (;;) {
    // Browsers return a hundred at a time, and an empty list at the end.
    const some = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail))
    if (some.length === 0) return found
    for (const one of some) found.push(...(await filesOf(one, `${path}/`)))
  }
}

function isZip(chosen: readonly Chosen[]): boolean {
  return chosen.length === 1 && /\.zip$/i.test(chosen[0]?.path ?? '')
}

function wordsOf(chosen: readonly Chosen[]): string {
  if (chosen.length === 0) return ''
  const size = megabytes(chosen.reduce((sum, { file }) => sum + file.size, 0))
  if (isZip(chosen)) return `${chosen[0]?.path}, ${size}`
  const notes = chosen.filter(({ path }) => /\.(md|markdown)$/i.test(path)).length
  return `${chosen.length.toLocaleString('en')} files, ${notes.toLocaleString('en')} of them Markdown, ${size}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}

function send(form: HTMLFormElement, chosen: readonly Chosen[]): void {
  for (const old of document.querySelectorAll('main .problem')) old.remove()
  const [first] = chosen
  if (first && isZip(chosen) && first.file.size > limits.archiveBytes) {
    const [size, most] = [first.file.size, limits.archiveBytes].map(megabytes)
    showProblem(
      form,
      `${first.path} has ${size}, and a .zip has at most ${most}. Unpack it and choose the folder, which may be larger.`,
    )
    return
  }
  const data = new FormData()
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') data.append(name, value)
  const field = isZip(chosen) ? 'zip' : 'folder'
  for (const { file, path } of chosen) data.append(field, file, path)
  const sending = form.querySelector<HTMLElement>('[data-sending]')
  const bar = sending?.querySelector('progress')
  const says = sending?.querySelector<HTMLElement>('[data-sent]')
  const button = form.querySelector<HTMLButtonElement>('button[type=submit]')
  if (!sending || !bar || !says || !button) return
  const request = new XMLHttpRequest()
  const fail = (words: string) => {
    sending.hidden = true
    button.disabled = false
    showProblem(form, words)
  }
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    bar.value = total === 0 ? 0 : loaded / total
    says.textContent = loaded < total ? `Sent ${megabytes(loaded)} of ${megabytes(total)}` : 'Sent. Checking the files…'
  })
  request.addEventListener('load', () => {
    const page = new DOMParser().parseFromString(request.responseText, 'text/html')
    if (request.status < 300) location.assign(request.responseURL)
    else fail(wordsIn(page) || 'The import was refused.')
  })
  request.addEventListener('error', () => fail('The upload broke off. Check your connection, then import again.'))
  request.open('POST', form.action)
  request.setRequestHeader('Accept', 'text/html')
  button.disabled = true
  sending.hidden = false
  says.textContent = 'Sending…'
  request.send(data)
}

/** Returns the reason in a refused form, or in the page of an error. */
function wordsIn(page: Document): string | undefined {
  const found = page.querySelector('.problem') ?? page.querySelector('main p')
  return found?.textContent?.trim()
}

function showProblem(form: HTMLFormElement, words: string): void {
  const problem = document.createElement('p')
  problem.className = 'problem'
  problem.setAttribute('role', 'alert')
  problem.textContent = words
  form.before(problem)
  problem.scrollIntoView({ block: 'nearest' })
}

/** Shows how far an import is, then loads its report. */
async function follow(run: HTMLElement): Promise<void> {
  const bar = run.querySelector('progress')
  const says = run.querySelector('[data-phase]')
  for (;;) {
    await new Promise((done) => setTimeout(done, lookEveryMs))
    const page = await fetch(location.href, { headers: { Accept: 'text/html' } })
      .then((answer) => (answer.ok ? answer.text() : undefined))
      .catch(() => undefined)
    // A service that restarts answers later.
    if (page === undefined) continue
    const now = new DOMParser().parseFromString(page, 'text/html').querySelector('[data-import-run]')
    if (now === null) return location.reload()
    const next = now.querySelector('progress')
    if (says && now.querySelector('[data-phase]')?.textContent !== says.textContent)
      says.textContent = now.querySelector('[data-phase]')?.textContent ?? ''
    if (!bar || !next) continue
    bar.max = next.max
    if (next.hasAttribute('value')) bar.value = next.value
    else bar.removeAttribute('value')
  }
}

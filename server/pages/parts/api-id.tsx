/** The id of an organisation or a node, with a button that copies it. */

interface ApiIdProps {
  readonly id: string
  readonly of: 'page' | 'organisation'
}

export function ApiId({ id, of }: ApiIdProps) {
  return (
    <section id="id" aria-labelledby="id-title">
      <h2 id="id-title">Id</h2>
      <p>
        The API and Git find this {of} by its id, which never changes. The links to it contain the same id in a shorter
        form.
      </p>
      <p class="copy" data-api-id>
        {id}
      </p>
      <p>
        <button type="button" class="btn" data-copy="[data-api-id]" hidden>
          Copy id
        </button>
      </p>
    </section>
  )
}

/** Pictures with a title, each a transaction of its own or a data item, found by GraphQL. */

export interface Picture {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
}

export class Gallery {
  readonly #url: string;

  /** Anything that answers GraphQL and content: a gateway, or a local network. */
  constructor(url: string) {
    this.#url = url;
  }

  /** What an upload must be tagged with to hang in the gallery. */
  static tags(title: string): { name: string; value: string }[] {
    return [
      { name: 'Content-Type', value: 'image/svg+xml' },
      { name: 'App-Name', value: 'Gallery' },
      { name: 'Title', value: title },
    ];
  }

  async pictures(owner: string): Promise<Picture[]> {
    const query = `query ($owner: String!) {
      transactions(owners: [$owner], tags: [{ name: "App-Name", values: ["Gallery"] }], sort: HEIGHT_ASC) {
        edges { node { id owner { address } tags { name value } } }
      }
    }`;
    const answer = await fetch(`${this.#url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { owner } }),
    });
    const { data } = (await answer.json()) as Answer;
    return data.transactions.edges.map(({ node }) => ({
      id: node.id,
      title: node.tags.find(({ name }) => name === 'Title')?.value ?? '',
      owner: node.owner.address,
    }));
  }

  async show(id: string): Promise<string> {
    const answer = await fetch(`${this.#url}/raw/${id}`);
    if (!answer.ok) throw new Error(`${id} cannot be shown: ${answer.status}`);
    return answer.text();
  }
}

interface Answer {
  readonly data: {
    readonly transactions: {
      readonly edges: readonly {
        readonly node: {
          readonly id: string;
          readonly owner: { readonly address: string };
          readonly tags: readonly { readonly name: string; readonly value: string }[];
        };
      }[];
    };
  };
}

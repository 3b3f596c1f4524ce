/* runpath.c - dlopen must see who calls: a plugin that only this program's RUNPATH names is found under the shim too.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
    void *plugin = dlopen("libunit_plugin.so", RTLD_NOW);
    int (*answer)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_answer") : NULL;
    if (!answer || answer() != 42) {
        printf("runpath: FAILED: %s\n", dlerror());
        return 1;
    }
    printf("runpath: ok\n");
    return dlclose(plugin);
}
